// Axes of a reduction, and what its plain and vector loops share.
#pragma once

#include <cstdint>

#include "kernels/cpu/tree.h"
#include "lockstep/tensor/kernel.h"

namespace lockstep {

inline constexpr int kColumnBlock = 256;    // columns that are summed side by side
inline constexpr int kColumnLevels = 40;    // of the chunk tree: 2^40 chunks

/// Axes in row-major order, merged where one stride describes two neighbours; extents of 1 are left out.
struct Axes {
  std::int64_t size[kMaxRank] = {};
  std::int64_t stride[kMaxRank] = {};
  std::size_t n = 0;

  void push(std::int64_t extent, std::int64_t step) {
    if (extent == 1) return;
    if (n > 0 && stride[n - 1] == extent * step) {
      size[n - 1] *= extent;
      stride[n - 1] = step;
      return;
    }
    size[n] = extent;
    stride[n++] = step;
  }
  [[nodiscard]] std::int64_t count() const {
    std::int64_t all = 1;
    for (std::size_t i = 0; i < n; ++i) all *= size[i];
    return all;
  }
  /// The walk visits consecutive elements.
  [[nodiscard]] bool contiguous() const { return n == 0 || (n == 1 && stride[0] == 1); }
  /// Of element `index` of the walk from its first.
  [[nodiscard]] std::int64_t offset(std::int64_t index) const {
    std::int64_t at = 0;
    for (std::size_t i = n; i-- > 0;) {
      at += index % size[i] * stride[i];
      index /= size[i];
    }
    return at;
  }
};

/// The axes of x that `axes` (ascending) names go to `reduced`, the others to `kept`.
inline void split_axes(const Array& x, const Shape& axes, Axes& kept, Axes& reduced) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < x.shape.rank(); ++i) {
    const bool named = next < axes.rank() && axes[next] == static_cast<std::int64_t>(i);
    (named ? reduced : kept).push(x.shape[i], x.strides[i]);
    if (named) ++next;
  }
}

}  // namespace lockstep
