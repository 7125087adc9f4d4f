// Packers of matrix products: panels of A and B from any strides into the layout that tiles read.
// No guard: gemm-inl.h is included once for each instruction set, and includes the other two in turn.
#include "kernels/cpu/gemm_tile-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// Four columns of four consecutive k, turned: to[q * to_step + j] = from[j * from_step + q].
HWY_INLINE void turn_4x4(const float* HWY_RESTRICT from, std::int64_t from_step, float* HWY_RESTRICT to,
                         std::int64_t to_step) {
  const hn::FixedTag<float, 4> d;
  const auto x0 = hn::LoadU(d, from), x1 = hn::LoadU(d, from + from_step);
  const auto x2 = hn::LoadU(d, from + 2 * from_step), x3 = hn::LoadU(d, from + 3 * from_step);
  const auto low01 = hn::InterleaveLower(d, x0, x1), high01 = hn::InterleaveUpper(d, x0, x1);
  const auto low23 = hn::InterleaveLower(d, x2, x3), high23 = hn::InterleaveUpper(d, x2, x3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + to_step);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * to_step);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * to_step);
}
HWY_INLINE void turn_4x4(const double* HWY_RESTRICT from, std::int64_t from_step, double* HWY_RESTRICT to,
                         std::int64_t to_step) {
  for (int j = 0; j < 4; ++j) {
    for (int q = 0; q < 4; ++q) to[q * to_step + j] = from[j * from_step + q];
  }
}

/// One panel: to[kk][width] = from[kk * from_row + j * from_col] for j < columns, +0 in the rest.
template <class T>
HWY_NOINLINE void pack_panel(const T* HWY_RESTRICT from, std::int64_t from_row, std::int64_t from_col, std::int64_t k,
                             std::int64_t columns, std::int64_t width, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = kTileColumns<T> / 2;
  std::int64_t k_done = 0;
  if (from_col == 1 && columns == 2 * kWidth && width == 2 * kWidth) {
    for (; k_done < k; ++k_done) {
      hn::StoreU(hn::LoadU(d, from + k_done * from_row), d, to + k_done * width);
      hn::StoreU(hn::LoadU(d, from + k_done * from_row + kWidth), d, to + k_done * width + kWidth);
    }
    return;
  }
  std::int64_t turned = 0;   // columns [0, turned) of k [0, k_done) are written
  if (from_row == 1 && width % 4 == 0) {
    turned = columns - columns % 4;
    for (; k_done + 16 <= k; k_done += 16) {
      for (std::int64_t j = 0; j < turned; j += 4) {
        for (std::int64_t q = k_done; q < k_done + 16; q += 4) {
          turn_4x4(from + j * from_col + q, from_col, to + q * width + j, width);
        }
      }
    }
    for (; k_done + 4 <= k; k_done += 4) {
      for (std::int64_t j = 0; j < turned; j += 4) {
        turn_4x4(from + j * from_col + k_done, from_col, to + k_done * width + j, width);
      }
    }
  }
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const T* row = from + kk * from_row;
    T* out = to + kk * width;
    std::int64_t j = kk < k_done ? turned : 0;
    for (; j < columns; ++j) out[j] = row[j * from_col];
    for (; j < width; ++j) out[j] = T{0};
  }
}

/// Copies one panel of A, `height` rows by k, so that its rows lie side by side. Sets t.a and t.a_step.
/// Returns whether k is contiguous in the copy.
template <class T>
HWY_INLINE bool pack_rows(Tile<T>& t, std::int64_t a_row, std::int64_t a_col, std::int64_t height, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = kTileColumns<T> / 2;
  const T* HWY_RESTRICT from = t.a;
  t.a = to;
  if (a_col == 1) {
    t.a_step = t.k + kWidth;   // room for whole registers
    for (std::int64_t r = 0; r < height; ++r) {
      std::int64_t kk = 0;
      for (; kk + kWidth <= t.k; kk += kWidth) hn::StoreU(hn::LoadU(d, from + r * a_row + kk), d, to + r * t.a_step + kk);
      for (; kk < t.k; ++kk) to[r * t.a_step + kk] = from[r * a_row + kk];
    }
    return true;
  }
  t.a_step = kTileRows<T>;
  for (std::int64_t kk = 0; kk < t.k; ++kk) {
    for (int r = 0; r < kTileRows<T>; ++r) to[kk * kTileRows<T> + r] = from[kk * a_col + (r < height ? r : 0) * a_row];
  }
  return false;
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !HWY_ONCE
