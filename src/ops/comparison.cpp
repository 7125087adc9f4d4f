// Comparisons to bool, and selection by a condition.
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

#include <fmt/core.h>

namespace lockstep {
namespace {

constexpr std::string_view kAB[] = {"a", "b"};
constexpr std::string_view kCAB[] = {"condition", "a", "b"};

std::vector<Meta> infer_compare(const OpIn& c) {
  const DType t = c.in[0].dtype;
  if (t == DType::bf16 || t == DType::f16 || t == DType::i8)
    refuse(c, fmt::format("input {} has dtype {}, which is reserved for storage: cast it first", input_text(c, 0),
                          text(t)));
  need_same_dtype(c, 0, 1);
  return result(broadcast(c.in[0].shape, c.in[1].shape, c.op.name), DType::boolean);
}
std::vector<Meta> infer_where(const OpIn& c) {
  need_dtype(c, 0, DType::boolean);
  need_same_dtype(c, 1, 2);
  return result(broadcast(c.in[0].shape, broadcast(c.in[1].shape, c.in[2].shape, c.op.name), c.op.name), c.in[1].dtype);
}
Tensors where_vjp(const Vjp& c) {
  const Tensor zero = constant_like(c.grad[0], 0);
  return {Tensor(), c.wants(1) ? where(c.in[0], c.grad[0], zero) : Tensor(),
          c.wants(2) ? where(c.in[0], zero, c.grad[0]) : Tensor()};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> compare_samples() {
  std::vector<OpSample> out;
  for (const DType t : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean})
    for (OpSample& s : two_inputs(t)) out.push_back(std::move(s));
  return out;
}
std::vector<OpSample> where_samples() {
  std::vector<OpSample> out;
  for (const auto& [c, a, b] : std::vector<std::array<Shape, 3>>{{Shape{3, 5}, Shape{3, 5}, Shape{3, 5}},
                                                                 {Shape{5}, Shape{3, 1}, Shape{}},
                                                                 {Shape{}, Shape{7}, Shape{1}},
                                                                 {Shape{0, 3}, Shape{1, 3}, Shape{3}},
                                                                 {Shape{260, 263}, Shape{260, 263}, Shape{260, 1}}})
    for (const DType t : {DType::f32, DType::f64})
      out.push_back({.in = {{.shape = c, .dtype = DType::boolean, .high_int = 2},
                            {.shape = a, .dtype = t},
                            {.shape = b, .dtype = t}},
                     .check_gradient = c.numel() < 100});
  return out;
}
std::vector<BadSample> bad_where() {
  return {
      {.in = {{.shape = {3}}, {.shape = {3}}, {.shape = {3}}},
       .expect = "'condition' [3] has dtype float32; it must be bool"},
      {.in = {{.shape = {2}, .dtype = DType::boolean}, {.shape = {3}}, {.shape = {3}}}, .expect = "do not broadcast"}};
}
constexpr BadSamplesFn kBadPair = bad_pair;
#else
constexpr SamplesFn compare_samples = nullptr, where_samples = nullptr;
constexpr BadSamplesFn kBadPair = nullptr, bad_where = nullptr;
#endif

constexpr OpDef comparison(std::string_view name, std::string_view doc, std::string_view onnx) {
  return {.name = name,
          .doc = doc,
          .inputs = kAB,
          .infer = infer_compare,
          .gradient = Gradient::none,
          .elementwise = true,
          .flops = flops_per_element,
          .onnx = onnx,
          .samples = compare_samples,
          .bad_samples = kBadPair};
}

enum : std::size_t { kEq, kNe, kLt, kLe, kGt, kGe, kWhere };
constexpr OpDef kOps[] = {
    comparison("eq", "a == b as bool; false where either is NaN, +0 equals -0.", "Equal"),
    comparison("ne", "a != b as bool; true where either is NaN, +0 equals -0.", "Not(Equal(a, b))"),
    comparison("lt", "a < b as bool; false where either is NaN.", "Less"),
    comparison("le", "a <= b as bool; false where either is NaN.", "LessOrEqual"),
    comparison("gt", "a > b as bool; false where either is NaN.", "Greater"),
    comparison("ge", "a >= b as bool; false where either is NaN.", "GreaterOrEqual"),
    {.name = "where",
     .doc = "condition ? a : b, a selection: the other side's NaN does not spread.",
     .inputs = kCAB,
     .infer = infer_where,
     .vjp = where_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Where",
     .samples = where_samples,
     .bad_samples = bad_where},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_comparison = kOps;

Tensor eq(const Tensor& a, const Tensor& b) { return apply1(kOps[kEq], {a, b}); }
Tensor ne(const Tensor& a, const Tensor& b) { return apply1(kOps[kNe], {a, b}); }
Tensor lt(const Tensor& a, const Tensor& b) { return apply1(kOps[kLt], {a, b}); }
Tensor le(const Tensor& a, const Tensor& b) { return apply1(kOps[kLe], {a, b}); }
Tensor gt(const Tensor& a, const Tensor& b) { return apply1(kOps[kGt], {a, b}); }
Tensor ge(const Tensor& a, const Tensor& b) { return apply1(kOps[kGe], {a, b}); }
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return apply1(kOps[kWhere], {condition, a, b});
}

}  // namespace lockstep
