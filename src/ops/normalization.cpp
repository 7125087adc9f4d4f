// Batch normalisation with the statistics of the batch.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kInputs[] = {"x", "weight?", "bias?"};
constexpr AttrDef kAttrs[] = {{"eps", "Added to the variance, > 0.", 1e-5}};

std::vector<Meta> infer(const OpIn& c) {
  need_float(c, 0);
  const Shape& x = c.in[0].shape;
  if (x.rank() != 2 && x.rank() != 3)
    refuse(c, fmt::format("input {} has {} axes; it must be [n, c] or [n, c, l]", input_text(c, 0), x.rank()));
  if (x.numel() / std::max<std::int64_t>(1, x[1]) == 0)
    refuse(c, fmt::format("input {} has no values per channel; statistics need at least one", input_text(c, 0)));
  for (std::size_t i = 1; i < 3; ++i) {
    if (!c.has(i)) continue;
    need_same_dtype(c, 0, i);
    need_rank(c, i, 1);
    need_extent(c, i, 0, x[1], "channels of x");
  }
  const auto eps = c.attrs.get<double>(0);
  if (!(eps > 0)) refuse(c, fmt::format("eps is {}; it must be greater than 0", eps));
  const DType t = c.in[0].dtype;
  return {{x, t, {}}, {{x[1]}, t, {}}, {{x[1]}, t, {}}};
}

Tensors reference(std::span<const Tensor> in, const Attrs& attrs) {
  const Tensor& x = in[0];
  const Shape axes = x.rank() == 2 ? Shape{0} : Shape{0, 2};
  const Shape channels = x.rank() == 2 ? Shape{-1} : Shape{-1, 1};
  const Tensor m = mean(x, axes, true);
  const Tensor d = sub(x, m);
  const Tensor v = mean(mul(d, d), axes, true);
  Tensor y = div(d, sqrt(add_scalar(v, attrs.get<double>(0))));
  if (in[1].defined()) y = mul(y, reshape(in[1], channels));
  if (in[2].defined()) y = add(y, reshape(in[2], channels));
  return {y, reshape(m, {x.size(1)}), reshape(v, {x.size(1)})};
}
std::int64_t flops(const OpIn& c) { return 8 * c.in[0].shape.numel(); }

#if LOCKSTEP_SAMPLES
std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{5, 3}, Shape{4, 2, 3}, Shape{1, 2, 5}, Shape{64, 37}, Shape{7, 1}})
    for (const bool affine : {true, false})
      out.push_back({.in = {{.shape = s}, {.shape = {s[1]}, .present = affine}, {.shape = {s[1]}, .present = affine}},
                     .attrs = {1e-2},
                     .check_gradient = s.numel() < 60});
  return out;
}
std::vector<BadSample> bad_samples() {
  return {
      {.in = {{.shape = {3}}}, .attrs = {1e-5}, .expect = "input 'x' [3] has 1 axes; it must be [n, c] or [n, c, l]"},
      {.in = {{.shape = {3, 4}}, {.shape = {3}}}, .attrs = {1e-5}, .expect = "it must have 4, the channels of x"},
      {.in = {{.shape = {0, 4}}}, .attrs = {1e-5}, .expect = "has no values per channel"},
      {.in = {{.shape = {3, 4}}}, .attrs = {0.0}, .expect = "eps is 0; it must be greater than 0"}};
}
#else
constexpr SamplesFn samples = nullptr;
constexpr BadSamplesFn bad_samples = nullptr;
#endif

constexpr OpDef kOps[] = {
    {.name = "batch_norm",
     .doc = "y = (x - m) / sqrt(v + eps) * weight + bias with m and v (biased) over all axes but the channels; returns "
            "y, m [c] and v [c]. "
            "Nothing is fused: two passes of A4 sums, then one rounding per operation.",
     .inputs = kInputs,
     .attrs = kAttrs,
     .infer = infer,
     .reference = reference,
     .autocast = Autocast::full,
     .flops = flops,
     .onnx = "BatchNormalization",
     .samples = samples,
     .bad_samples = bad_samples},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_normalization = kOps;

Tensors batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor in[] = {x, weight, bias};
  return apply(kOps[0], in, {eps});
}

}  // namespace lockstep
