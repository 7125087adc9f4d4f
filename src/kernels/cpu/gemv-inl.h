// One row times a matrix whose columns are contiguous: B is turned in registers, since it is read once.
// No guard: matmul.cpp includes it once for each instruction set, after gemm-inl.h.
#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

inline constexpr std::int64_t kGemvColumns = 8;   // a register of outputs, each with its own chain

/// Four steps of k for eight columns: chain = chain + a[k] * b[k, column], k ascending.
template <class V>
HWY_INLINE V gemv_step(const float* HWY_RESTRICT a, std::int64_t a_col, const float* HWY_RESTRICT b, std::int64_t b_col, V chain) {
  const hn::FixedTag<float, 4> quad;
  const hn::FixedTag<float, 8> d;
  const hn::FixedTag<double, 4> pairs;
  // Register r holds four k of column r and of column r + 4.
  const auto column = [&](std::int64_t r) HWY_ATTR {
    return hn::Combine(d, hn::LoadU(quad, b + (r + 4) * b_col), hn::LoadU(quad, b + r * b_col));
  };
  const auto x0 = column(0), x1 = column(1), x2 = column(2), x3 = column(3);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, x0, x1)), high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, x0, x1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, x2, x3)), high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, x2, x3));
  chain = fma(hn::Set(d, a[0]), hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), chain);
  chain = fma(hn::Set(d, a[a_col]), hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), chain);
  chain = fma(hn::Set(d, a[2 * a_col]), hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), chain);
  return fma(hn::Set(d, a[3 * a_col]), hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), chain);
}

/// Outputs [n0, n1) of a product with m = 1 and b_row = 1; n1 - n0 is a multiple of 2 * kGemvColumns.
HWY_NOINLINE void gemv_f32(const Gemm<float>& g, std::int64_t n0, std::int64_t n1) {
  const hn::FixedTag<float, 8> d;
  const std::int64_t chunk = chunk_length(g.k);
  for (std::int64_t j = n0; j < n1; j += 2 * kGemvColumns) {
    auto left = hn::Zero(d), right = hn::Zero(d);
    for (std::int64_t k0 = 0; k0 < g.k; k0 += chunk) {
      const std::int64_t k1 = g.k - k0 < chunk ? g.k : k0 + chunk;
      const float* HWY_RESTRICT a = g.a + k0 * g.a_col;
      const float* HWY_RESTRICT b = g.b + j * g.b_col + k0;
      auto x = hn::Zero(d), y = hn::Zero(d);
      std::int64_t k = k0;
      // A line of each column at once: columns a multiple of 4 KB apart share their place in the first cache.
      for (; k + 16 <= k1; k += 16, a += 16 * g.a_col, b += 16) {
        for (std::int64_t q = 0; q < 16; q += 4) x = gemv_step(a + q * g.a_col, g.a_col, b + q, g.b_col, x);
        for (std::int64_t q = 0; q < 16; q += 4) {
          y = gemv_step(a + q * g.a_col, g.a_col, b + kGemvColumns * g.b_col + q, g.b_col, y);
        }
      }
      for (; k + 4 <= k1; k += 4, a += 4 * g.a_col, b += 4) {
        x = gemv_step(a, g.a_col, b, g.b_col, x);
        y = gemv_step(a, g.a_col, b + kGemvColumns * g.b_col, g.b_col, y);
      }
      for (; k < k1; ++k, a += g.a_col, ++b) {
        alignas(32) float one[2 * kGemvColumns];
        for (std::int64_t c = 0; c < 2 * kGemvColumns; ++c) one[c] = b[c * g.b_col];
        x = fma(hn::Set(d, *a), hn::Load(d, one), x);
        y = fma(hn::Set(d, *a), hn::Load(d, one + kGemvColumns), y);
      }
      left = hn::Add(left, x);
      right = hn::Add(right, y);
    }
    alignas(32) float sum[2 * kGemvColumns];
    hn::Store(left, d, sum);
    hn::Store(right, d, sum + kGemvColumns);
    for (std::int64_t c = 0; c < 2 * kGemvColumns; ++c) {
      g.c[(j + c) * g.c_col] = g.bias == nullptr ? sum[c] : sum[c] + g.bias[g.bias_by_row ? 0 : j + c];
    }
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !HWY_ONCE
