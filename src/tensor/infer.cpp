// Checks shared by the infer functions of ops.
#include "lockstep/tensor/infer.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

std::string_view name_of(const OpIn& c, std::size_t i) {
  std::string_view n = c.op.inputs[i];
  if (n.ends_with('?')) n.remove_suffix(1);
  return n;
}

}  // namespace

void refuse(const OpIn& c, std::string_view why, Site site) {
  fail(Category::usage, fmt::format("{}: {}", c.op.name, why), site);
}

std::string input_text(const OpIn& c, std::size_t i) {
  return fmt::format("'{}' {}", name_of(c, i), text(c.in[i].shape));
}

void need_float(const OpIn& c, std::size_t i) {
  if (c.in[i].dtype != DType::f32 && c.in[i].dtype != DType::f64)
    refuse(c, fmt::format("input {} has dtype {}; it must be float32 or float64: cast it first", input_text(c, i),
                          text(c.in[i].dtype)));
}

void need_dtype(const OpIn& c, std::size_t i, DType t) {
  if (c.in[i].dtype != t)
    refuse(c, fmt::format("input {} has dtype {}; it must be {}: cast it first", input_text(c, i), text(c.in[i].dtype),
                          text(t)));
}

void need_same_dtype(const OpIn& c, std::size_t i, std::size_t j) {
  if (c.in[i].dtype != c.in[j].dtype)
    refuse(c, fmt::format("inputs {} and {} have dtypes {} and {}; they must be equal: cast one of them",
                          input_text(c, i), input_text(c, j), text(c.in[i].dtype), text(c.in[j].dtype)));
}

void need_same_shape(const OpIn& c, std::size_t i, std::size_t j) {
  if (c.in[i].shape != c.in[j].shape)
    refuse(c, fmt::format("inputs {} and {} must have equal shapes", input_text(c, i), input_text(c, j)));
}

void need_rank(const OpIn& c, std::size_t i, std::size_t rank) {
  if (c.in[i].shape.rank() != rank)
    refuse(c, fmt::format("input {} has {} axes; it must have {}", input_text(c, i), c.in[i].shape.rank(), rank));
}

void need_rank_at_least(const OpIn& c, std::size_t i, std::size_t rank) {
  if (c.in[i].shape.rank() < rank)
    refuse(c,
           fmt::format("input {} has {} axes; it must have at least {}", input_text(c, i), c.in[i].shape.rank(), rank));
}

void need_extent(const OpIn& c, std::size_t i, std::size_t axis, std::int64_t extent, std::string_view of_what) {
  if (c.in[i].shape[axis] != extent)
    refuse(c, fmt::format("axis {} of input {} has {} elements; it must have {}, the {}", axis, input_text(c, i),
                          c.in[i].shape[axis], extent, of_what));
}

std::size_t need_axis(const OpIn& c, std::size_t attr) {
  const auto axis = c.attrs.get<std::int64_t>(attr);
  if (axis < 0 || axis >= static_cast<std::int64_t>(c.in[0].shape.rank()))
    refuse(c, fmt::format("axis {} is outside [0, {}) of input {}", axis, c.in[0].shape.rank(), input_text(c, 0)));
  return static_cast<std::size_t>(axis);
}

std::int64_t flops_per_element(const OpIn& c) {
  std::int64_t n = 0;
  for (const Meta& m : c.op.infer(c)) n += m.shape.numel();
  return n;
}

}  // namespace lockstep
