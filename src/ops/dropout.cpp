// dropout: the mask is a function of the key and the element, so that forward and backward need not store it.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

enum : std::size_t { kP, kKey };
constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kAttrs[] = {{"p", "Probability of zero, [0, 1).", 0.5},
                              {"key", "Key of the mask; equal keys give equal masks.", RngKey{}}};

std::vector<Meta> infer(const OpIn& c) {
  need_float(c, 0);
  const auto p = c.attrs.get<double>(kP);
  if (!(p >= 0 && p < 1)) refuse(c, fmt::format("p is {}; it must lie in [0, 1)", p));
  return result(c.in[0].shape, c.in[0].dtype);
}
/// Linear in x: the same mask on the gradient.
Tensors vjp(const Vjp& c) { return {apply1(c.op, {c.grad[0]}, c.attrs)}; }

#if LOCKSTEP_SAMPLES
std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{0, 4}, Shape{}, Shape{37}, Shape{67, 33}, Shape{300, 301}})
    out.push_back({.in = {{.shape = s}},
                   .attrs = {0.25, RngKey{.key = 7, .step = 3, .shard = 1, .draw = 2}},
                   .check_gradient = s.numel() < 100});
  return out;
}
std::vector<BadSample> bad_samples() {
  return {{.in = {{.shape = {3}}}, .attrs = {1.0, RngKey{}}, .expect = "p is 1; it must lie in [0, 1)"},
          {.in = {{.shape = {3}, .dtype = DType::i64}}, .attrs = {0.5, RngKey{}}, .expect = "has dtype int64"}};
}
#else
constexpr SamplesFn samples = nullptr;
constexpr BadSamplesFn bad_samples = nullptr;
#endif

constexpr OpDef kOps[] = {
    {.name = "dropout",
     .doc = "Element i is x * (1 / (1 - p)), the factor rounded once, where u_i >= p, else +0. u_i is word i mod 4 of "
            "Philox(key, {i / 4, step, "
            "shard, draw}): 24 high bits times 2^-24 (R1, R2); i is row-major.",
     .inputs = kX,
     .attrs = kAttrs,
     .infer = infer,
     .vjp = vjp,
     .flops = flops_per_element,
     .onnx = "Dropout",
     .samples = samples,
     .bad_samples = bad_samples},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_dropout = kOps;

Tensor dropout(const Tensor& x, double p) {
  return scope.training && p != 0 ? apply1(kOps[0], {x}, {p, next_key()}) : x;
}

}  // namespace lockstep
