// Elementwise functions of one tensor.
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr double kTwoOverRootPi = 0x1.20dd750429b6dp+0;

std::vector<Meta> infer_same(const OpIn& c) {
  need_float(c, 0);
  return result(c.in[0].shape, c.in[0].dtype);
}

Tensors neg_vjp(const Vjp& c) { return {neg(c.grad[0])}; }
Tensors abs_vjp(const Vjp& c) { return {mul(c.grad[0], sign(c.in[0]))}; }
Tensors sign_vjp(const Vjp&) { return {Tensor()}; }
Tensors exp_vjp(const Vjp& c) { return {mul(c.grad[0], c.out[0])}; }
Tensors log_vjp(const Vjp& c) { return {div(c.grad[0], c.in[0])}; }
Tensors log1p_vjp(const Vjp& c) { return {div(c.grad[0], add_scalar(c.in[0], 1))}; }
Tensors expm1_vjp(const Vjp& c) { return {mul(c.grad[0], add_scalar(c.out[0], 1))}; }
Tensors sqrt_vjp(const Vjp& c) { return {div(c.grad[0], mul_scalar(c.out[0], 2))}; }
Tensors sin_vjp(const Vjp& c) { return {mul(c.grad[0], cos(c.in[0]))}; }
Tensors cos_vjp(const Vjp& c) { return {neg(mul(c.grad[0], sin(c.in[0])))}; }
Tensors erf_vjp(const Vjp& c) {  // 2 / sqrt(pi) * exp(-x^2)
  return {mul(c.grad[0], mul_scalar(exp(neg(mul(c.in[0], c.in[0]))), kTwoOverRootPi))};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> any_samples() { return one_input(-2, 2); }
std::vector<OpSample> positive_samples() { return one_input(0.25, 3); }
std::vector<OpSample> log1p_samples() { return one_input(-0.75, 3); }
constexpr BadSamplesFn kBad = bad_integer;
#else
constexpr SamplesFn any_samples = nullptr, positive_samples = nullptr, log1p_samples = nullptr;
constexpr BadSamplesFn kBad = nullptr;
#endif

constexpr OpDef unary(std::string_view name, std::string_view doc, Tensors (*vjp)(const Vjp&), Save saves,
                      std::string_view onnx, SamplesFn samples) {
  return {.name = name,
          .doc = doc,
          .inputs = kX,
          .infer = infer_same,
          .vjp = vjp,
          .elementwise = true,
          .saves = saves,
          .flops = flops_per_element,
          .onnx = onnx,
          .samples = samples,
          .bad_samples = kBad};
}

enum : std::size_t { kNeg, kAbs, kSign, kExp, kLog, kLog1p, kExpm1, kSqrt, kSin, kCos, kErf };
constexpr OpDef kOps[] = {
    unary("neg", "-x; the sign bit is flipped, of zeros and NaN too.", neg_vjp, Save::none, "Neg", any_samples),
    unary("abs", "|x|: the sign bit is cleared. The derivative at 0 is 0.", abs_vjp, Save::inputs, "Abs", any_samples),
    unary("sign",
          "-1, +1, or x itself where x is a zero or NaN: sign(+0) = +0, sign(-0) = -0 (A10). The derivative is 0.",
          sign_vjp, Save::none, "Sign", any_samples),
    unary("exp", "e^x, at most 1.5 ULP in f32 and 2 in f64 (A8).", exp_vjp, Save::outputs, "Exp", any_samples),
    unary("log", "Natural logarithm: -inf at 0, NaN below (A8).", log_vjp, Save::inputs, "Log", positive_samples),
    unary("log1p", "log(1 + x), accurate near 0: -inf at -1, NaN below (A8).", log1p_vjp, Save::inputs,
          "Log(Add(x, 1))", log1p_samples),
    unary("expm1", "e^x - 1, accurate near 0 (A8).", expm1_vjp, Save::outputs, "Sub(Exp(x), 1)", any_samples),
    unary("sqrt", "Square root, IEEE (A9): NaN below 0, sqrt(-0) = -0.", sqrt_vjp, Save::outputs, "Sqrt",
          positive_samples),
    unary("sin", "Sine of radians (A8).", sin_vjp, Save::inputs, "Sin", any_samples),
    unary("cos", "Cosine of radians (A8).", cos_vjp, Save::inputs, "Cos", any_samples),
    unary("erf", "Error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to x (A8).", erf_vjp, Save::inputs, "Erf",
          any_samples),
};

}  // namespace

extern constinit const std::span<const OpDef> ops_unary = kOps;

Tensor neg(const Tensor& x) { return apply1(kOps[kNeg], {x}); }
Tensor abs(const Tensor& x) { return apply1(kOps[kAbs], {x}); }
Tensor sign(const Tensor& x) { return apply1(kOps[kSign], {x}); }
Tensor exp(const Tensor& x) { return apply1(kOps[kExp], {x}); }
Tensor log(const Tensor& x) { return apply1(kOps[kLog], {x}); }
Tensor log1p(const Tensor& x) { return apply1(kOps[kLog1p], {x}); }
Tensor expm1(const Tensor& x) { return apply1(kOps[kExpm1], {x}); }
Tensor sqrt(const Tensor& x) { return apply1(kOps[kSqrt], {x}); }
Tensor sin(const Tensor& x) { return apply1(kOps[kSin], {x}); }
Tensor cos(const Tensor& x) { return apply1(kOps[kCos], {x}); }
Tensor erf(const Tensor& x) { return apply1(kOps[kErf], {x}); }

}  // namespace lockstep
