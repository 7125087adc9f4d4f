// Shapes, strides and dtypes: plain values shared by every layer above base.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

inline constexpr std::size_t kMaxRank = 8;

/// Element types. bf16, f16 and i8 are reserved for storage (NUMERICS A11); no kernel takes them yet.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i64, i32, u8, i8, boolean };
enum class Device : std::uint8_t { cpu, cuda, meta };

/// Bytes of one element.
constexpr std::size_t size_of(DType t) {
  constexpr std::array<std::size_t, 9> kSizes = {4, 8, 2, 2, 8, 4, 1, 1, 1};
  return kSizes[static_cast<std::size_t>(t)];
}
constexpr bool is_floating(DType t) { return t <= DType::f16; }
/// PyTorch's names: float32, float64, bfloat16, float16, int64, int32, uint8, int8, bool.
std::string_view text(DType t);
std::string_view text(Device d);

/// Up to eight non-negative extents, stored inline. Rank 0 is a scalar with one element.
class Shape {
 public:
  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  constexpr explicit Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
    std::ranges::copy(dims.first(std::min(dims.size(), kMaxRank)), dims_.begin());
  }
  [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t i) const { return dims_[i]; }
  [[nodiscard]] constexpr std::int64_t& operator[](std::size_t i) { return dims_[i]; }
  [[nodiscard]] constexpr std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  constexpr void push_back(std::int64_t d) { dims_[rank_++] = d; }
  [[nodiscard]] constexpr const std::int64_t* begin() const { return dims_.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const { return dims_.data() + rank_; }
  constexpr bool operator==(const Shape& o) const { return std::ranges::equal(*this, o); }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::size_t rank_ = 0;
};

/// Element (not byte) strides, one per axis; 0 repeats an element (broadcast).
using Strides = std::array<std::int64_t, kMaxRank>;

/// `[64, 128]`
std::string text(const Shape& s);
/// Row-major strides.
constexpr Strides contiguous_strides(const Shape& s) {
  Strides out{};
  std::int64_t step = 1;
  for (std::size_t i = s.rank(); i-- > 0;) {
    out[i] = step;
    step *= s[i] > 0 ? s[i] : 1;
  }
  return out;
}
/// True when row-major iteration of `s` under `strides` walks consecutive elements (axes of size 1 do not count).
bool is_contiguous(const Shape& s, const Strides& strides);
/// NumPy broadcasting of two shapes. Throws usage: names both shapes and the axis that disagrees.
Shape broadcast(const Shape& a, const Shape& b, std::string_view op);
/// `axis` in [-rank, rank) as a non-negative index. Throws usage.
std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view op);

}  // namespace lockstep
