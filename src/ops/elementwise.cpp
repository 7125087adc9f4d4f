// Binary elementwise ops with NumPy broadcasting, and their scalar forms.
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kAB[] = {"a", "b"};
constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kScalar[] = {{"s", "The scalar; rounded once to x's dtype.", 0.0}};

std::vector<Meta> infer_pair(const OpIn& c) {
  need_float(c, 0);
  need_same_dtype(c, 0, 1);
  return result(broadcast(c.in[0].shape, c.in[1].shape, c.op.name), c.in[0].dtype);
}
std::vector<Meta> infer_same(const OpIn& c) {
  need_float(c, 0);
  return result(c.in[0].shape, c.in[0].dtype);
}

Tensors add_vjp(const Vjp& c) { return {c.grad[0], c.grad[0]}; }
Tensors sub_vjp(const Vjp& c) { return {c.grad[0], c.wants(1) ? neg(c.grad[0]) : Tensor()}; }
Tensors mul_vjp(const Vjp& c) {
  const Tensor& g = c.grad[0];
  return {c.wants(0) ? mul(g, c.in[1]) : Tensor(), c.wants(1) ? mul(g, c.in[0]) : Tensor()};
}
Tensors div_vjp(const Vjp& c) {  // a / b: g / b, -(g / b) (a / b)
  const Tensor q = div(c.grad[0], c.in[1]);
  return {q, c.wants(1) ? neg(mul(q, c.out[0])) : Tensor()};
}
/// The winner takes the gradient; equal elements take half each.
Tensors pick_vjp(const Vjp& c, Tensor (*wins)(const Tensor&, const Tensor&)) {
  const Tensor half = mul_scalar(c.grad[0], 0.5), zero = constant_like(half, 0);
  const Tensor tie = where(eq(c.in[0], c.in[1]), half, zero);
  return {where(wins(c.in[0], c.in[1]), c.grad[0], tie), where(wins(c.in[1], c.in[0]), c.grad[0], tie)};
}
Tensors maximum_vjp(const Vjp& c) { return pick_vjp(c, gt); }
Tensors minimum_vjp(const Vjp& c) { return pick_vjp(c, lt); }
Tensors add_scalar_vjp(const Vjp& c) { return {c.grad[0]}; }
Tensors mul_scalar_vjp(const Vjp& c) { return {mul_scalar(c.grad[0], c.attrs.get<double>(0))}; }

#if LOCKSTEP_SAMPLES
std::vector<OpSample> pair_samples() { return two_inputs(DType::f32); }
std::vector<OpSample> div_samples() { return two_inputs(DType::f32, 0.5); }
std::vector<OpSample> scalar_samples() { return one_input(-2, 2, {0.3}); }
constexpr BadSamplesFn kBadPair = bad_pair;
std::vector<BadSample> bad_scalar() {
  return {{.in = {{.shape = {3}, .dtype = DType::i64}},
           .attrs = {1.0},
           .expect = "has dtype int64; it must be float32 or float64"}};
}
#else
constexpr SamplesFn pair_samples = nullptr, div_samples = nullptr, scalar_samples = nullptr;
constexpr BadSamplesFn kBadPair = nullptr, bad_scalar = nullptr;
#endif

enum : std::size_t { kAdd, kSub, kMul, kDiv, kMaximum, kMinimum, kAddScalar, kMulScalar };
constexpr OpDef kOps[] = {
    {.name = "add",
     .doc = "a + b, one rounding.",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = add_vjp,
     .elementwise = true,
     .flops = flops_per_element,
     .onnx = "Add",
     .samples = pair_samples,
     .bad_samples = kBadPair},
    {.name = "sub",
     .doc = "a - b, one rounding.",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = sub_vjp,
     .elementwise = true,
     .flops = flops_per_element,
     .onnx = "Sub",
     .samples = pair_samples,
     .bad_samples = kBadPair},
    {.name = "mul",
     .doc = "a * b, one rounding.",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = mul_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Mul",
     .samples = pair_samples,
     .bad_samples = kBadPair},
    {.name = "div",
     .doc = "a / b, IEEE division (A9).",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = div_vjp,
     .elementwise = true,
     .saves = Save::both,
     .flops = flops_per_element,
     .onnx = "Div",
     .samples = div_samples,
     .bad_samples = kBadPair},
    {.name = "maximum",
     .doc = "The larger of a and b. NaN where either is NaN; max(+0, -0) = +0 (A10). Equal elements share the gradient "
            "by halves; "
            "at NaN it is 0.",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = maximum_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Max",
     .samples = pair_samples,
     .bad_samples = kBadPair},
    {.name = "minimum",
     .doc = "The smaller of a and b. NaN where either is NaN; min(+0, -0) = -0 (A10). Equal elements share the "
            "gradient by halves; "
            "at NaN it is 0.",
     .inputs = kAB,
     .infer = infer_pair,
     .vjp = minimum_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Min",
     .samples = pair_samples,
     .bad_samples = kBadPair},
    {.name = "add_scalar",
     .doc = "x + s, s rounded once to x's dtype.",
     .inputs = kX,
     .attrs = kScalar,
     .infer = infer_same,
     .vjp = add_scalar_vjp,
     .elementwise = true,
     .flops = flops_per_element,
     .onnx = "Add",
     .samples = scalar_samples,
     .bad_samples = bad_scalar},
    {.name = "mul_scalar",
     .doc = "x * s, s rounded once to x's dtype.",
     .inputs = kX,
     .attrs = kScalar,
     .infer = infer_same,
     .vjp = mul_scalar_vjp,
     .elementwise = true,
     .flops = flops_per_element,
     .onnx = "Mul",
     .samples = scalar_samples,
     .bad_samples = bad_scalar},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_elementwise = kOps;

Tensor add(const Tensor& a, const Tensor& b) { return apply1(kOps[kAdd], {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply1(kOps[kSub], {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply1(kOps[kMul], {a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return apply1(kOps[kDiv], {a, b}); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply1(kOps[kMaximum], {a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply1(kOps[kMinimum], {a, b}); }
Tensor add_scalar(const Tensor& x, double s) { return apply1(kOps[kAddScalar], {x}, {s}); }
Tensor mul_scalar(const Tensor& x, double s) { return apply1(kOps[kMulScalar], {x}, {s}); }

}  // namespace lockstep
