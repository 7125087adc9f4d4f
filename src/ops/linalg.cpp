// Matrix products.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kAB[] = {"a", "b"};
constexpr std::string_view kLinear[] = {"x", "weight", "bias?"};

std::vector<Meta> infer_matmul(const OpIn& c) {
  need_float(c, 0);
  need_same_dtype(c, 0, 1);
  if (c.in[0].shape.rank() != 2 || c.in[1].shape.rank() != 2 || c.in[0].shape[1] != c.in[1].shape[0])
    refuse(c, fmt::format("inputs {} and {} do not multiply; the rule is [m, k] x [k, n]", input_text(c, 0),
                          input_text(c, 1)));
  return result({c.in[0].shape[0], c.in[1].shape[1]}, c.in[0].dtype);
}
std::int64_t matmul_flops(const OpIn& c) { return 2 * c.in[0].shape.numel() * c.in[1].shape[1]; }
Tensors matmul_vjp(const Vjp& c) {
  const Tensor& g = c.grad[0];
  return {c.wants(0) ? matmul(g, transpose(c.in[1])) : Tensor(), c.wants(1) ? matmul(transpose(c.in[0]), g) : Tensor()};
}

std::vector<Meta> infer_linear(const OpIn& c) {
  need_float(c, 0);
  need_same_dtype(c, 0, 1);
  need_rank(c, 1, 2);
  const Shape& x = c.in[0].shape;
  const Shape& w = c.in[1].shape;
  if (x.rank() == 0 || x[x.rank() - 1] != w[1])
    refuse(c, fmt::format("the last axis of input {} must have {} elements, the in_features of {}", input_text(c, 0),
                          w[1], input_text(c, 1)));
  if (c.has(2)) {
    need_same_dtype(c, 0, 2);
    need_rank(c, 2, 1);
    need_extent(c, 2, 0, w[0], "out_features of weight");
  }
  Shape out = x;
  out[x.rank() - 1] = w[0];
  return result(out, c.in[0].dtype);
}
std::int64_t linear_flops(const OpIn& c) { return 2 * c.in[0].shape.numel() * c.in[1].shape[0]; }

/// [..., n] as [rows, n], also where an extent is 0.
Tensor rows(const Tensor& x) {
  const std::int64_t n = x.size(-1);
  std::int64_t m = 1;
  for (std::size_t i = 0; i + 1 < x.rank(); ++i) m *= x.shape()[i];
  return x.rank() == 2 ? x : reshape(x, {m, n});
}
Tensors linear_reference(std::span<const Tensor> in, const Attrs&) {
  Shape out = in[0].shape();
  out[out.rank() - 1] = in[1].size(0);
  const Tensor y = reshape(matmul(rows(in[0]), transpose(in[1])), out);
  return {in[2].defined() ? add(y, in[2]) : y};
}
Tensors linear_vjp(const Vjp& c) {
  const Tensor g = rows(c.grad[0]);
  Tensors out(3);
  if (c.wants(0)) {
    const Tensor gx = matmul(g, c.in[1]);
    out[0] = c.in[0].rank() == 2 ? gx : reshape(gx, c.in[0].shape());
  }
  if (c.wants(1)) out[1] = matmul(transpose(g), rows(c.in[0]));
  if (c.wants(2)) out[2] = sum(g, {0});
  return out;
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> matmul_samples() {
  std::vector<OpSample> out;
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{{3, 4, 5},
                                                                        {1, 7, 1},
                                                                        {0, 3, 2},
                                                                        {2, 0, 3},
                                                                        {2, 3, 0},
                                                                        {13, 17, 37},
                                                                        {1, 5, 3},
                                                                        {7, 1300, 33},
                                                                        {31, 641, 5},
                                                                        {65, 64, 70},
                                                                        {130, 700, 37},
                                                                        {37, 700, 1},
                                                                        {9, 330, 530}})
    out.push_back({.in = {{.shape = {m, k}}, {.shape = {k, n}}}, .check_gradient = m * k * n < 200});
  return out;
}
std::vector<OpSample> linear_samples() {
  std::vector<OpSample> out;
  for (const auto& [x, n] : std::vector<std::pair<Shape, std::int64_t>>{{Shape{3, 4}, 5},
                                                                        {Shape{4}, 3},
                                                                        {Shape{2, 3, 4}, 2},
                                                                        {Shape{0, 4}, 3},
                                                                        {Shape{3, 0}, 2},
                                                                        {Shape{17, 129}, 37},
                                                                        {Shape{1, 701}, 37},
                                                                        {Shape{130, 700}, 37},
                                                                        {Shape{1, 1}, 1}})
    for (const bool bias : {true, false})
      out.push_back({.in = {{.shape = x}, {.shape = {n, x[x.rank() - 1]}}, {.shape = {n}, .present = bias}},
                     .check_gradient = x.numel() < 60});
  return out;
}
std::vector<BadSample> bad_matmul() {
  return {
      {.in = {{.shape = {3, 4}}, {.shape = {5, 2}}},
       .expect = "'a' [3, 4] and 'b' [5, 2] do not multiply; the rule is [m, k] x [k, n]"},
      {.in = {{.shape = {3}}, {.shape = {3, 2}}}, .expect = "'a' [3] and 'b' [3, 2] do not multiply"},
      {.in = {{.shape = {3, 4}}, {.shape = {4, 2}, .dtype = DType::f64}}, .expect = "have dtypes float32 and float64"}};
}
std::vector<BadSample> bad_linear() {
  return {{.in = {{.shape = {3, 4}}, {.shape = {2, 5}}},
           .expect = "the last axis of input 'x' [3, 4] must have 5 elements, the in_features of 'weight' [2, 5]"},
          {.in = {{.shape = {3, 5}}, {.shape = {2, 5}}, {.shape = {3}}},
           .expect = "axis 0 of input 'bias' [3] has 3 elements; it must have 2"}};
}
#else
constexpr SamplesFn matmul_samples = nullptr, linear_samples = nullptr;
constexpr BadSamplesFn bad_matmul = nullptr, bad_linear = nullptr;
#endif

enum : std::size_t { kMatmul, kLinearOp };
constexpr OpDef kOps[] = {
    {.name = "matmul",
     .doc = "[m, k] x [k, n] -> [m, n] with the chunked chains of A3; k = 0 gives zeros. Products are fused into the "
            "chain (A2).",
     .inputs = kAB,
     .infer = infer_matmul,
     .vjp = matmul_vjp,
     .saves = Save::inputs,
     .autocast = Autocast::low,
     .flops = matmul_flops,
     .onnx = "MatMul",
     .samples = matmul_samples,
     .bad_samples = bad_matmul},
    {.name = "linear",
     .doc = "x weight^T + bias: the product as matmul (A3), then one plain add of the bias.",
     .inputs = kLinear,
     .infer = infer_linear,
     .reference = linear_reference,
     .vjp = linear_vjp,
     .saves = Save::inputs,
     .autocast = Autocast::low,
     .flops = linear_flops,
     .onnx = "Gemm",
     .samples = linear_samples,
     .bad_samples = bad_linear},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_linalg = kOps;

Tensor matmul(const Tensor& a, const Tensor& b) { return apply1(kOps[kMatmul], {a, b}); }
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return apply1(kOps[kLinearOp], {x, weight, bias});
}

}  // namespace lockstep
