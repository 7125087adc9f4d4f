// Plain data of one matrix product, and the plan that fits it to the caches. No bits depend on anything here
// except chunk_length, which is NUMERICS A3.
#pragma once

#include <cstdint>

namespace lockstep {

/// C[i, j] = sum over k of A[i, k] * B[k, j], then plus bias. Any strides; C's rows or columns are contiguous.
template <class T>
struct Gemm {
  const T* a = nullptr;
  const T* b = nullptr;
  const T* bias = nullptr;            // null: none; else one per column, or per row when bias_by_row
  T* c = nullptr;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0, c_row = 0, c_col = 1;
  bool bias_by_row = false;
  bool pack_a = false, pack_b = false;
  std::int64_t m_block = 0, n_block = 0;   // one task computes a block of C of at most this size

  [[nodiscard]] std::int64_t m_tasks() const { return (m + m_block - 1) / m_block; }
  [[nodiscard]] std::int64_t n_tasks() const { return (n + n_block - 1) / n_block; }
};

/// Length of the chunks of K (the last one may be shorter): 8 * ceil(k / (8 n)) with n = ceil(k / 640). k > 0.
constexpr std::int64_t chunk_length(std::int64_t k) {
  const std::int64_t n = (k + 639) / 640;
  return 8 * ((k + 8 * n - 1) / (8 * n));
}
inline constexpr std::int64_t kMaxChunk = 640;
inline constexpr std::int64_t kMaxColumnBlock = 512;   // columns of B that one task packs; a multiple of 32
inline constexpr std::int64_t kMaxRowTile = 16;
/// Elements of private scratch that a task needs: a block of B, then a panel of A.
inline constexpr std::int64_t kGemmScratch = kMaxChunk * kMaxColumnBlock + kMaxRowTile * (kMaxChunk + 16);

}  // namespace lockstep
