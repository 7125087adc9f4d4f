// Shapes: text, contiguity, broadcasting.
#include "lockstep/tensor/shape.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {

std::string_view text(DType t) {
  constexpr std::array<std::string_view, 9> kNames = {"float32", "float64", "bfloat16", "float16", "int64",
                                                      "int32",   "uint8",   "int8",     "bool"};
  return kNames[static_cast<std::size_t>(t)];
}

std::string_view text(Device d) {
  constexpr std::array<std::string_view, 3> kNames = {"cpu", "cuda", "meta"};
  return kNames[static_cast<std::size_t>(d)];
}

std::string text(const Shape& s) {
  std::string out = "[";
  for (std::size_t i = 0; i < s.rank(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", s[i]);
  return out + "]";
}

bool is_contiguous(const Shape& s, const Strides& strides) {
  std::int64_t step = 1;
  for (std::size_t i = s.rank(); i-- > 0;) {
    if (s[i] == 0) return true;
    if (s[i] != 1 && strides[i] != step) return s.numel() == 0;
    step *= s[i];
  }
  return true;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view op) {
  if (a == b) return a;
  const std::size_t rank = std::max(a.rank(), b.rank());
  Shape out;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
    const std::int64_t y = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
    if (x != y && x != 1 && y != 1)
      fail(Category::usage,
           fmt::format("{}: shapes {} and {} do not broadcast: axis {} (from the right) has {} and {}; "
                       "extents must be equal or 1",
                       op, text(a), text(b), rank - i, x, y));
    out.push_back(x == 1 ? y : x);
  }
  return out;
}

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view op) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r)
    fail(Category::usage,
         fmt::format("{}: axis {} is outside [{}, {}) of a tensor with {} axes", op, axis, -r, r, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace lockstep
