// softmax and log_softmax over the last axis.
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};

std::vector<Meta> infer(const OpIn& c) {
  need_float(c, 0);
  need_rank_at_least(c, 0, 1);
  return result(c.in[0].shape, c.in[0].dtype);
}
std::int64_t flops(const OpIn& c) { return 4 * c.in[0].shape.numel(); }

/// x - max: the shift that keeps exp in range.
Tensor shifted(const Tensor& x) { return sub(x, amax(x, {-1}, true)); }

Tensors softmax_reference(std::span<const Tensor> in, const Attrs&) {
  if (in[0].numel() == 0) return {contiguous(in[0])};
  const Tensor e = exp(shifted(in[0]));
  return {div(e, sum(e, {-1}, true))};
}
Tensors softmax_vjp(const Vjp& c) {  // y (g - sum(g y))
  const Tensor gy = mul(c.grad[0], c.out[0]);
  return {sub(gy, mul(c.out[0], sum(gy, {-1}, true)))};
}
Tensors log_softmax_reference(std::span<const Tensor> in, const Attrs&) {
  if (in[0].numel() == 0) return {contiguous(in[0])};
  const Tensor d = shifted(in[0]);
  return {sub(d, log(sum(exp(d), {-1}, true)))};
}
Tensors log_softmax_vjp(const Vjp& c) {  // g - softmax sum(g)
  return {sub(c.grad[0], mul(exp(c.out[0]), sum(c.grad[0], {-1}, true)))};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{0, 4}, Shape{3, 0}, Shape{1}, Shape{7, 1}, Shape{2, 3, 4}, Shape{5, 37},
                         Shape{2, 5003}, Shape{260, 263}})
    out.push_back({.in = {{.shape = s, .low = -4, .high = 4}}, .check_gradient = s.numel() < 100});
  return out;
}
std::vector<BadSample> bad_samples() {
  return {{.in = {{.shape = {}}}, .expect = "input 'x' [] has 0 axes; it must have at least 1"},
          {.in = {{.shape = {3}, .dtype = DType::i64}}, .expect = "has dtype int64"}};
}
#else
constexpr SamplesFn samples = nullptr;
constexpr BadSamplesFn bad_samples = nullptr;
#endif

constexpr OpDef kOps[] = {
    {.name = "softmax",
     .doc = "exp(x - m) / sum(exp(x - m)) over the last axis, m the row's maximum; the sum as A4. NaN in a row makes "
            "the row NaN.",
     .inputs = kX,
     .infer = infer,
     .reference = softmax_reference,
     .vjp = softmax_vjp,
     .saves = Save::outputs,
     .autocast = Autocast::full,
     .flops = flops,
     .onnx = "Softmax",
     .samples = samples,
     .bad_samples = bad_samples},
    {.name = "log_softmax",
     .doc = "(x - m) - log(sum(exp(x - m))) over the last axis, m the row's maximum; the sum as A4.",
     .inputs = kX,
     .infer = infer,
     .reference = log_softmax_reference,
     .vjp = log_softmax_vjp,
     .saves = Save::outputs,
     .autocast = Autocast::full,
     .flops = flops,
     .onnx = "LogSoftmax",
     .samples = samples,
     .bad_samples = bad_samples},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_softmax = kOps;

Tensor softmax(const Tensor& x) { return apply1(kOps[0], {x}); }
Tensor log_softmax(const Tensor& x) { return apply1(kOps[1], {x}); }

}  // namespace lockstep
