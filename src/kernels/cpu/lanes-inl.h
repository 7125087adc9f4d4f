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
/// The first n < 16 elements; `fill` in the rest. Reads nothing behind them.
template <class T>
HWY_INLINE Lanes<T> lanes_load_n(const T* HWY_RESTRICT p, std::int64_t n, T fill) {
  alignas(64) T part[kSumLanes];
  for (int i = 0; i < kSumLanes; ++i) part[i] = i < n ? p[i] : fill;
  return lanes_load(part);
}
template <class T>
HWY_INLINE void lanes_store_n(const Lanes<T>& x, T* HWY_RESTRICT p, std::int64_t n) {
  alignas(64) T part[kSumLanes];
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
    hn::StoreU(x.v[r], typename Lanes<T>::D(), part + r * Lanes<T>::kWidth);
  }
  for (int i = 0; i < kSumLanes && i < n; ++i) p[i] = part[i];
}
/// Lane by lane plain additions.
template <class T>
HWY_INLINE void lanes_add(Lanes<T>& sum, const Lanes<T>& x) {
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) sum.v[r] = hn::Add(sum.v[r], x.v[r]);
}
/// The lanes folded 8-4-2-1: lane l takes lane l + 8, then l + 4, l + 2, l + 1.
template <class T>
HWY_INLINE T lanes_fold(const Lanes<T>& x) {
  alignas(64) T part[kSumLanes];
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
    hn::StoreU(x.v[r], typename Lanes<T>::D(), part + r * Lanes<T>::kWidth);
  }
  return fold_lanes(part);
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
#endif  // !HWY_ONCE

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
