// Activations: relu, tanh, sigmoid, gelu, with the fused derivatives of relu and gelu.
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr std::string_view kGX[] = {"g", "x"};
constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;      // sqrt(1/2)
constexpr double kInvRootTwoPi = 0x1.9884533d43651p-2;  // 1 / sqrt(2 pi)

std::vector<Meta> infer_same(const OpIn& c) {
  need_float(c, 0);
  return result(c.in[0].shape, c.in[0].dtype);
}
std::vector<Meta> infer_backward(const OpIn& c) {
  need_float(c, 0);
  need_same_dtype(c, 0, 1);
  need_same_shape(c, 0, 1);
  return result(c.in[1].shape, c.in[1].dtype);
}

Tensor normal_density(const Tensor& x) { return mul_scalar(exp(mul_scalar(mul(x, x), -0.5)), kInvRootTwoPi); }
Tensor normal_mass(const Tensor& x) { return mul_scalar(add_scalar(erf(mul_scalar(x, kRootHalf)), 1), 0.5); }

Tensors relu_reference(std::span<const Tensor> in, const Attrs&) {
  const Tensor zero = constant_like(in[0], 0);
  return {where(le(in[0], zero), zero, in[0])};
}
Tensors relu_vjp(const Vjp& c) { return {relu_backward(c.grad[0], c.in[0])}; }
Tensors relu_backward_reference(std::span<const Tensor> in, const Attrs&) {
  const Tensor zero = constant_like(in[0], 0);
  return {where(le(in[1], zero), zero, in[0])};
}
Tensors relu_backward_vjp(const Vjp& c) { return {relu_backward(c.grad[0], c.in[1]), Tensor()}; }
Tensors tanh_vjp(const Vjp& c) { return {mul(c.grad[0], add_scalar(neg(mul(c.out[0], c.out[0])), 1))}; }
Tensors sigmoid_reference(std::span<const Tensor> in, const Attrs&) {
  return {div(constant_like(in[0], 1), add_scalar(exp(neg(in[0])), 1))};
}
Tensors sigmoid_vjp(const Vjp& c) { return {mul(c.grad[0], mul(c.out[0], add_scalar(neg(c.out[0]), 1)))}; }
Tensors gelu_reference(std::span<const Tensor> in, const Attrs&) { return {mul(in[0], normal_mass(in[0]))}; }
Tensors gelu_vjp(const Vjp& c) { return {gelu_backward(c.grad[0], c.in[0])}; }
Tensors gelu_backward_reference(std::span<const Tensor> in, const Attrs&) {
  return {mul(in[0], add(normal_mass(in[1]), mul(in[1], normal_density(in[1]))))};
}
Tensors gelu_backward_vjp(const Vjp& c) {  // d/dx (Phi + x phi) = phi (2 - x^2)
  const Tensor& x = c.in[1];
  Tensor by_x;
  if (c.wants(1)) by_x = mul(mul(c.grad[0], c.in[0]), mul(normal_density(x), add_scalar(neg(mul(x, x)), 2)));
  return {c.wants(0) ? gelu_backward(c.grad[0], x) : Tensor(), by_x};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> samples() { return one_input(-3, 3); }
std::vector<OpSample> backward_samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{0, 2}, Shape{}, Shape{37}, Shape{260, 263}})
    out.push_back({.in = {{.shape = s}, {.shape = s}}, .check_gradient = s.numel() < 100});
  return out;
}
std::vector<BadSample> bad_backward() {
  return {{.in = {{.shape = {3}}, {.shape = {4}}}, .expect = "inputs 'g' [3] and 'x' [4] must have equal shapes"},
          {.in = {{.shape = {3}}, {.shape = {3}, .dtype = DType::f64}}, .expect = "have dtypes float32 and float64"}};
}
constexpr BadSamplesFn kBad = bad_integer;
#else
constexpr SamplesFn samples = nullptr, backward_samples = nullptr;
constexpr BadSamplesFn kBad = nullptr, bad_backward = nullptr;
#endif

enum : std::size_t { kRelu, kReluBackward, kTanh, kSigmoid, kGelu, kGeluBackward };
constexpr OpDef kOps[] = {
    {.name = "relu",
     .doc = "x > 0 ? x : +0; NaN stays NaN (A10).",
     .inputs = kX,
     .infer = infer_same,
     .reference = relu_reference,
     .vjp = relu_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Relu",
     .samples = samples,
     .bad_samples = kBad},
    {.name = "relu_backward",
     .doc = "Derivative of relu: x > 0 ? g : +0; g where x is NaN (A10).",
     .inputs = kGX,
     .infer = infer_backward,
     .reference = relu_backward_reference,
     .vjp = relu_backward_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .samples = backward_samples,
     .bad_samples = bad_backward},
    {.name = "tanh",
     .doc = "Hyperbolic tangent (A8).",
     .inputs = kX,
     .infer = infer_same,
     .vjp = tanh_vjp,
     .elementwise = true,
     .saves = Save::outputs,
     .flops = flops_per_element,
     .onnx = "Tanh",
     .samples = samples,
     .bad_samples = kBad},
    {.name = "sigmoid",
     .doc = "1 / (1 + exp(-x)) (A8).",
     .inputs = kX,
     .infer = infer_same,
     .reference = sigmoid_reference,
     .vjp = sigmoid_vjp,
     .elementwise = true,
     .saves = Save::outputs,
     .flops = flops_per_element,
     .onnx = "Sigmoid",
     .samples = samples,
     .bad_samples = kBad},
    {.name = "gelu",
     .doc = "x * Phi(x), Phi the normal distribution function with erf within 3e-7 in f32 (A8).",
     .inputs = kX,
     .infer = infer_same,
     .reference = gelu_reference,
     .vjp = gelu_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .onnx = "Gelu",
     .samples = samples,
     .bad_samples = kBad},
    {.name = "gelu_backward",
     .doc = "Derivative of gelu: g * (Phi(x) + x * phi(x)), phi the normal density.",
     .inputs = kGX,
     .infer = infer_backward,
     .reference = gelu_backward_reference,
     .vjp = gelu_backward_vjp,
     .elementwise = true,
     .saves = Save::inputs,
     .flops = flops_per_element,
     .samples = backward_samples,
     .bad_samples = bad_backward},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_activation = kOps;

Tensor relu(const Tensor& x) { return apply1(kOps[kRelu], {x}); }
Tensor relu_backward(const Tensor& g, const Tensor& x) { return apply1(kOps[kReluBackward], {g, x}); }
Tensor tanh(const Tensor& x) { return apply1(kOps[kTanh], {x}); }
Tensor sigmoid(const Tensor& x) { return apply1(kOps[kSigmoid], {x}); }
Tensor gelu(const Tensor& x) { return apply1(kOps[kGelu], {x}); }
Tensor gelu_backward(const Tensor& g, const Tensor& x) { return apply1(kOps[kGeluBackward], {g, x}); }

}  // namespace lockstep
