// Dropout: each element's fate is a word of Philox4x32-10 at its own counter (NUMERICS R1, R5).
//
// Element i (row-major) reads word i mod 4 of philox(key, {i / 4, step, shard, draw}); u = its 24 high bits * 2^-24.
// Kept when u >= p, p rounded to float: y = x * s with s = 1 / (1 - p) rounded once to x's dtype. Else +0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/loops-inl.h"
#include "kernels/cpu/params.h"

#if !HWY_ONCE

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

/// High and low half of a * b in every 32-bit lane.
template <class D, class V>
HWY_INLINE void multiply(D d, V a, V b, V& high, V& low) {
  const hn::RepartitionToWide<D> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

constexpr std::int64_t kBlocks = HWY_MAX_BYTES / 4;   // Philox blocks at a time, four words each

/// The words of blocks first .. first + kBlocks - 1, in element order.
HWY_INLINE void philox_words(const DropoutParams& p, std::uint32_t first, std::uint32_t* HWY_RESTRICT words) {
  const hn::ScalableTag<std::uint32_t> d;
  auto c0 = hn::Iota(d, first);
  auto c1 = hn::Set(d, p.step);
  auto c2 = hn::Set(d, p.shard);
  auto c3 = hn::Set(d, p.draw);
  const auto m0 = hn::Set(d, 0xD2511F53U);
  const auto m1 = hn::Set(d, 0xCD9E8D57U);
  std::uint32_t lo = p.key_lo;
  std::uint32_t hi = p.key_hi;
  for (int round = 0; round < 10; ++round) {
    auto high0 = c0, low0 = c0, high1 = c2, low1 = c2;
    multiply(d, c0, m0, high0, low0);
    multiply(d, c2, m1, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, lo));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, hi));
    c3 = low0;
    lo += 0x9E3779B9U;
    hi += 0xBB67AE85U;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}

HWY_INLINE void apply_words(const DropoutParams& p, const std::uint32_t* HWY_RESTRICT words, const float* x, float* y,
                            std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int64_t kWidth = HWY_MAX_BYTES / 4;
  const auto bound = hn::Set(d, p.p);
  const auto scale = hn::Set(d, static_cast<float>(p.scale));
  const auto unit = hn::Set(d, 0x1p-24F);
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const auto bits = hn::ShiftRight<8>(hn::Load(du, words + i));
    const auto u = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, bits)), unit);
    const auto keep = hn::Ge(u, bound);
    if (i + kWidth <= n) {
      hn::StoreU(hn::IfThenElseZero(keep, hn::Mul(hn::LoadU(d, x + i), scale)), d, y + i);
    } else {
      const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
      hn::BlendedStore(hn::IfThenElseZero(keep, hn::Mul(hn::MaskedLoad(mask, d, x + i), scale)), mask, d, y + i);
    }
  }
}

HWY_INLINE void apply_words(const DropoutParams& p, const std::uint32_t* HWY_RESTRICT words, const double* x, double* y,
                            std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint32_t, decltype(d)> du;
  constexpr std::int64_t kWidth = HWY_MAX_BYTES / 8;
  const auto bound = hn::Set(d, static_cast<double>(p.p));
  const auto scale = hn::Set(d, p.scale);
  const auto unit = hn::Set(d, 0x1p-24);
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const auto bits = hn::ShiftRight<8>(hn::Load(du, words + i));
    const auto u = hn::Mul(hn::PromoteTo(d, hn::BitCast(di, bits)), unit);
    const auto keep = hn::Ge(u, bound);
    if (i + kWidth <= n) {
      hn::StoreU(hn::IfThenElseZero(keep, hn::Mul(hn::LoadU(d, x + i), scale)), d, y + i);
    } else {
      const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
      hn::BlendedStore(hn::IfThenElseZero(keep, hn::Mul(hn::MaskedLoad(mask, d, x + i), scale)), mask, d, y + i);
    }
  }
}

template <class T>
void dropout_loop(const Run& run) {
  const DropoutParams& p = *static_cast<const DropoutParams*>(run.params);
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  alignas(64) std::uint32_t words[4 * kBlocks];
  for (std::int64_t i = 0; i < run.n; i += 4 * kBlocks) {
    philox_words(p, static_cast<std::uint32_t>((run.first + i) / 4), words);
    const std::int64_t rest = run.n - i;
    apply_words(p, words, x + i, y + i, rest < 4 * kBlocks ? rest : 4 * kBlocks);
  }
}

constexpr Loop kVector[kFloatTypes] = {&dropout_loop<float>, &dropout_loop<double>};

}  // namespace
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else  // the plain loops and the table

#include "kernels/cpu/loops.h"
#include "lockstep/base/philox.h"

namespace lockstep {
namespace {

template <class T>
void dropout_plain(const Run& run) {
  const DropoutParams& p = *static_cast<const DropoutParams*>(run.params);
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  const T scale = static_cast<T>(p.scale);
  PhiloxBlock words{};
  for (std::int64_t i = 0; i < run.n; ++i) {
    const std::int64_t at = run.first + i;
    if (at % 4 == 0) {
      words = philox({p.key_lo, p.key_hi}, {static_cast<std::uint32_t>(at / 4), p.step, p.shard, p.draw});
    }
    y[i] = uniform_float(words[static_cast<std::size_t>(at % 4)]) >= p.p ? x[i] * scale : T{0};
  }
}

void dropout(const KernelCall& call) {
  const double p = call.attrs.get<double>(0);
  const RngKey& key = call.attrs.get<RngKey>(1);
  const DropoutParams draw{static_cast<std::uint32_t>(key.key),
                           static_cast<std::uint32_t>(key.key >> 32),
                           key.step,
                           key.shard,
                           key.draw,
                           static_cast<float>(p),
                           1.0 / (1.0 - p)};
  const bool single = call.in[0].dtype == DType::f32;
  const Loop plain = single ? &dropout_plain<float> : &dropout_plain<double>;
  const std::size_t row = single ? 0 : 1;
  map(call, pick(plain, N_AVX2::kVector[row], N_AVX3::kVector[row]), &draw, 4);
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kKernels[] = {{.op = "dropout", .dtypes = kFloats, .fn = &dropout}};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_dropout = kKernels;

}  // namespace lockstep
#endif  // HWY_ONCE
