// Vector lanes: with math-inl.h the only place where the order and the rounding of vector kernels are decided (A2, A4).
#if defined(LOCKSTEP_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_LANES_INL_H
#undef LOCKSTEP_LANES_INL_H
#else
#define LOCKSTEP_LANES_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/cpu/tree.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a * b + c in one rounding. The only fused operation in vector kernels.
template <class V>
HWY_INLINE V fma(V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
/// c - a * b in one rounding.
template <class V>
HWY_INLINE V fma_neg(V a, V b, V c) {
  return hn::NegMulAdd(a, b, c);
}

#if !HWY_ONCE
/// The 16 virtual lanes of A4 in T: element i of a run belongs to lane i mod 16. One register of 16 floats on
/// AVX-512, two of eight on AVX2; doubles take twice as many.
template <class T>
struct Lanes {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kWidth = static_cast<int>(HWY_MAX_BYTES / sizeof(T));
  static constexpr int kRegisters = kSumLanes / kWidth;
  V v[kRegisters];
};

template <class T>
HWY_INLINE Lanes<T> lanes_set(T x) {
  Lanes<T> out;
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) out.v[r] = hn::Set(typename Lanes<T>::D(), x);
  return out;
}
template <class T>
HWY_INLINE Lanes<T> lanes_load(const T* HWY_RESTRICT p) {
  Lanes<T> out;
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
    out.v[r] = hn::LoadU(typename Lanes<T>::D(), p + r * Lanes<T>::kWidth);
  }
  return out;
}
/// Which of register r's lanes belong to the first n of 16.
template <class T>
HWY_INLINE hn::Mask<typename Lanes<T>::D> lanes_mask(int r, std::int64_t n) {
  const std::int64_t here = n - r * Lanes<T>::kWidth;
  return hn::FirstN(typename Lanes<T>::D(), static_cast<std::size_t>(here > 0 ? here : 0));
}
/// The first n < 16 elements; `fill` in the rest. Reads nothing behind them.
template <class T>
HWY_INLINE Lanes<T> lanes_load_n(const T* HWY_RESTRICT p, std::int64_t n, T fill) {
  const typename Lanes<T>::D d;
  Lanes<T> out;
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
    const auto mask = lanes_mask<T>(r, n);
    out.v[r] = hn::IfThenElse(mask, hn::MaskedLoad(mask, d, p + r * Lanes<T>::kWidth), hn::Set(d, fill));
  }
  return out;
}
/// Writes the first n < 16 lanes and nothing behind them.
template <class T>
HWY_INLINE void lanes_store_n(const Lanes<T>& x, T* HWY_RESTRICT p, std::int64_t n) {
  const typename Lanes<T>::D d;
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) hn::BlendedStore(x.v[r], lanes_mask<T>(r, n), d, p + r * Lanes<T>::kWidth);
}
template <class T>
HWY_INLINE void lanes_store(const Lanes<T>& x, T* HWY_RESTRICT p) {
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) hn::StoreU(x.v[r], typename Lanes<T>::D(), p + r * Lanes<T>::kWidth);
}
/// The first n lanes; +0 in the rest.
template <class T>
HWY_INLINE Lanes<T> lanes_first(const Lanes<T>& x, std::int64_t n) {
  Lanes<T> out;
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) out.v[r] = hn::IfThenElseZero(lanes_mask<T>(r, n), x.v[r]);
  return out;
}
/// Lane by lane plain additions.
template <class T>
HWY_INLINE void lanes_add(Lanes<T>& sum, const Lanes<T>& x) {
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) sum.v[r] = hn::Add(sum.v[r], x.v[r]);
}
/// The lanes folded 8-4-2-1: lane l takes lane l + 8, then l + 4, l + 2, l + 1.
template <class T>
HWY_INLINE T lanes_fold(const Lanes<T>& x) {
  using D = typename Lanes<T>::D;
  const hn::FixedTag<T, 16 / sizeof(T)> quarter;   // 128 bits
  Lanes<T> sum = x;
  for (int half = Lanes<T>::kRegisters / 2; half > 0; half /= 2) {
    for (int r = 0; r < half; ++r) sum.v[r] = hn::Add(sum.v[r], sum.v[r + half]);
  }
  alignas(16) T part[16 / sizeof(T)];
  const hn::Half<D> half_d;
  const auto low = hn::Add(hn::LowerHalf(half_d, sum.v[0]), hn::UpperHalf(half_d, sum.v[0]));
  if constexpr (HWY_MAX_BYTES == 64) {
    hn::Store(hn::Add(hn::LowerHalf(quarter, low), hn::UpperHalf(quarter, low)), quarter, part);
  } else {
    hn::Store(low, quarter, part);
  }
  if constexpr (sizeof(T) == 4) {
    const T even = part[0] + part[2], odd = part[1] + part[3];
    return even + odd;
  } else {
    return part[0] + part[1];
  }
}

/// One chunk of A4: n <= 4096 consecutive elements.
template <class T>
HWY_INLINE T chunk_sum(const T* HWY_RESTRICT p, std::int64_t n) {
  Lanes<T> sum = lanes_set(T{0});
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) lanes_add(sum, lanes_load(p + i));
  if (i < n) lanes_add(sum, lanes_load_n(p + i, n - i, T{0}));
  return lanes_fold(sum);
}
/// A whole contiguous run in the order of A4. n = 0 gives +0.
template <class T>
HWY_INLINE T run_sum(const T* HWY_RESTRICT p, std::int64_t n) {
  if (n <= kSumChunk) return chunk_sum(p, n);
  SumTree<T> tree;
  tree.clear();
  for (std::int64_t i = 0; i < n; i += kSumChunk) tree.push(chunk_sum(p + i, n - i < kSumChunk ? n - i : kSumChunk));
  return tree.total();
}
/// The larger of `best` and the elements, by larger_of: comparisons only, so any order gives the same bits.
template <class T>
HWY_INLINE T run_max(const T* HWY_RESTRICT x, std::int64_t n, T best) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t kWidth = Lanes<T>::kWidth;
  if (n == 0) return best;
  // It starts from an element of the run, so lanes without one change nothing. Max keeps its second argument when the
  // two are equal or the first is NaN: the sign of a zero and NaN are settled afterwards.
  V most = hn::Set(d, x[0]);
  auto plain = hn::Eq(most, most);   // lanes that saw no NaN
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const V v = hn::LoadU(d, x + i);
    most = hn::Max(v, most);
    plain = hn::And(plain, hn::Eq(v, v));
  }
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i));
    const V v = hn::IfThenElse(mask, hn::MaskedLoad(mask, d, x + i), most);
    most = hn::Max(v, most);
    plain = hn::And(plain, hn::Eq(v, v));
  }
  if (!hn::AllTrue(d, plain)) return larger_of(static_cast<T>(__builtin_nan("")), best);
  alignas(64) T part[kWidth];
  hn::Store(most, d, part);
  for (std::int64_t half = kWidth / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) part[l] = part[l] > part[l + half] ? part[l] : part[l + half];
  }
  best = larger_of(best, part[0]);
  if (best == 0) {
    for (i = 0; i < n; ++i) best = larger_of(best, x[i]);
  }
  return best;
}
#endif  // !HWY_ONCE

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
