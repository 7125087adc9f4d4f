// Parameter and buffer updates in place.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kSgdInputs[] = {"param", "grad", "momentum_buffer?"};
constexpr std::string_view kAdamInputs[] = {"param", "grad", "exp_avg", "exp_avg_sq"};
constexpr std::string_view kLerpInputs[] = {"buffer", "statistic"};
constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kSgdAttrs[] = {{"lr", "Step size.", 0.1},
                                 {"momentum", "Factor of the buffer; 0 needs no buffer.", 0.0},
                                 {"dampening", "The gradient enters the buffer with 1 - dampening.", 0.0},
                                 {"weight_decay", "Added to the gradient as weight_decay * param.", 0.0},
                                 {"nesterov", "Step along grad + momentum * buffer.", false},
                                 {"first", "The buffer starts as the gradient.", false}};
constexpr AttrDef kAdamAttrs[] = {{"lr", "Step size.", 1e-3},
                                  {"beta1", "Decay of exp_avg, [0, 1).", 0.9},
                                  {"beta2", "Decay of exp_avg_sq, [0, 1).", 0.999},
                                  {"eps", "Added to the denominator.", 1e-8},
                                  {"weight_decay", "Decoupled: param *= 1 - lr * weight_decay.", 1e-2},
                                  {"update", "Number of this update, from 1.", std::int64_t{1}}};
constexpr AttrDef kLerpAttrs[] = {{"momentum", "Share of the statistic.", 0.1}};
constexpr AttrDef kScaleAttrs[] = {{"s", "The factor, rounded once to x's dtype.", 1.0}};

/// Every input looks like the first.
void need_alike(const OpIn& c) {
  need_float(c, 0);
  for (std::size_t i = 1; i < c.in.size(); ++i) {
    if (!c.has(i)) continue;
    need_same_dtype(c, 0, i);
    need_same_shape(c, 0, i);
  }
}
std::vector<Meta> infer_sgd(const OpIn& c) {
  need_alike(c);
  if (c.attrs.get<double>(1) != 0 && !c.has(2))
    refuse(c, fmt::format("momentum is {} and momentum_buffer is missing; a momentum other than 0 needs the buffer",
                          c.attrs.get<double>(1)));
  return {};
}
std::vector<Meta> infer_adamw(const OpIn& c) {
  need_alike(c);
  if (c.attrs.get<std::int64_t>(5) < 1)
    refuse(c, fmt::format("update is {}; updates are counted from 1", c.attrs.get<std::int64_t>(5)));
  for (std::size_t i = 1; i < 3; ++i)
    if (const auto b = c.attrs.get<double>(i); !(b >= 0 && b < 1))
      refuse(c, fmt::format("{} is {}; it must lie in [0, 1)", c.op.attrs[i].name, b));
  return {};
}
std::vector<Meta> infer_in_place(const OpIn& c) {
  need_alike(c);
  return {};
}

#if LOCKSTEP_SAMPLES
constexpr std::array<std::int64_t, 5> kSizes = {0, 1, 15, 37, 70001};
std::vector<OpSample> sgd_samples() {
  std::vector<OpSample> out;
  for (const std::int64_t n : kSizes) {
    out.push_back({.in = {{.shape = {n}}, {.shape = {n}}, {.shape = {n}, .present = false}},
                   .attrs = {0.1, 0.0, 0.0, 0.01, false, false}});
    for (const bool nesterov : {false, true})
      for (const bool first : {false, true})
        out.push_back({.in = {{.shape = {n}}, {.shape = {n}}, {.shape = {n}}},
                       .attrs = {0.1, 0.9, nesterov ? 0.0 : 0.1, 0.01, nesterov, first}});
  }
  return out;
}
std::vector<OpSample> adamw_samples() {
  std::vector<OpSample> out;
  for (const std::int64_t n : kSizes)
    for (const std::int64_t update : {1, 1000})
      out.push_back({.in = {{.shape = {n}}, {.shape = {n}}, {.shape = {n}}, {.shape = {n}, .low = 0}},
                     .attrs = {1e-3, 0.9, 0.999, 1e-8, 0.01, update}});
  return out;
}
std::vector<OpSample> lerp_samples() {
  return {{.in = {{.shape = {3, 5}}, {.shape = {3, 5}}}, .attrs = {0.1}},
          {.in = {{.shape = {0}}, {.shape = {0}}}, .attrs = {0.1}}};
}
std::vector<OpSample> scale_samples() { return one_input(-2, 2, {0.3}); }
std::vector<BadSample> bad_sgd() {
  return {{.in = {{.shape = {3}}, {.shape = {4}}},
           .attrs = {0.1, 0.0, 0.0, 0.0, false, false},
           .expect = "inputs 'param' [3] and 'grad' [4] must have equal shapes"},
          {.in = {{.shape = {3}}, {.shape = {3}}},
           .attrs = {0.1, 0.9, 0.0, 0.0, false, false},
           .expect = "momentum is 0.9 and momentum_buffer is missing"}};
}
std::vector<BadSample> bad_adamw() {
  const SampleInput x{.shape = {3}};
  return {{.in = {x, x, x, x},
           .attrs = {1e-3, 0.9, 0.999, 1e-8, 0.0, std::int64_t{0}},
           .expect = "update is 0; updates are counted from 1"},
          {.in = {x, x, x, x},
           .attrs = {1e-3, 1.0, 0.999, 1e-8, 0.0, std::int64_t{1}},
           .expect = "beta1 is 1; it must lie in [0, 1)"}};
}
std::vector<BadSample> bad_lerp() {
  return {{.in = {{.shape = {3}}, {.shape = {1}}}, .attrs = {0.1}, .expect = "must have equal shapes"}};
}
std::vector<BadSample> bad_scale() {
  return {{.in = {{.shape = {3}, .dtype = DType::i64}}, .attrs = {0.1}, .expect = "has dtype int64"}};
}
#else
constexpr SamplesFn sgd_samples = nullptr, adamw_samples = nullptr, lerp_samples = nullptr, scale_samples = nullptr;
constexpr BadSamplesFn bad_sgd = nullptr, bad_adamw = nullptr, bad_lerp = nullptr, bad_scale = nullptr;
#endif

enum : std::size_t { kSgd, kAdamw, kLerp, kScale };
constexpr OpDef kOps[] = {
    {.name = "sgd_step",
     .doc = "d = weight_decay != 0 ? fma(weight_decay, param, grad) : grad; with momentum: buffer = first ? d : "
            "fma(momentum, buffer, "
            "(1 - dampening) d) and d = nesterov ? fma(momentum, buffer, d) : buffer; param = fma(-lr, d, param). The "
            "products written as fma are "
            "fused, no other is; hyper-parameters are rounded once to the dtype; subnormal values of the buffer become 0 (A12).",
     .inputs = kSgdInputs,
     .attrs = kSgdAttrs,
     .infer = infer_sgd,
     .gradient = Gradient::none,
     .mutates = 0b101,
     .samples = sgd_samples,
     .bad_samples = bad_sgd},
    {.name = "adamw_step",
     .doc = "m = fma(1 - beta1, grad - m, m); v = fma((1 - beta2) grad, grad, beta2 v); param = fma(-lr / (1 - "
            "beta1^update), "
            "m / (sqrt(v) * (1 / sqrt(1 - beta2^update)) + eps), param (1 - lr weight_decay)). The products written as "
            "fma are fused, no other is; "
            "bias corrections in f64 from the update number (A13); subnormal moments become 0 (A12).",
     .inputs = kAdamInputs,
     .attrs = kAdamAttrs,
     .infer = infer_adamw,
     .gradient = Gradient::none,
     .mutates = 0b1101,
     .samples = adamw_samples,
     .bad_samples = bad_adamw},
    {.name = "lerp_",
     .doc = "buffer = (1 - momentum) buffer + momentum statistic: two products and one add, unfused.",
     .inputs = kLerpInputs,
     .attrs = kLerpAttrs,
     .infer = infer_in_place,
     .gradient = Gradient::none,
     .mutates = 1,
     .samples = lerp_samples,
     .bad_samples = bad_lerp},
    {.name = "scale_",
     .doc = "x = x * s in place, s rounded once to x's dtype.",
     .inputs = kX,
     .attrs = kScaleAttrs,
     .infer = infer_in_place,
     .gradient = Gradient::none,
     .mutates = 1,
     .samples = scale_samples,
     .bad_samples = bad_scale},
};

void run(const OpDef& op, std::initializer_list<Tensor> in, const Attrs& attrs) {
  apply(op, std::span(in.begin(), in.size()), attrs);
}

}  // namespace

extern constinit const std::span<const OpDef> ops_optim_step = kOps;

void sgd_step(const Tensor& param, const Tensor& grad, const Tensor& momentum_buffer, double lr, double momentum,
              double dampening, double weight_decay, bool nesterov, bool first) {
  run(kOps[kSgd], {param, grad, momentum_buffer}, {lr, momentum, dampening, weight_decay, nesterov, first});
}
void adamw_step(const Tensor& param, const Tensor& grad, const Tensor& exp_avg, const Tensor& exp_avg_sq, double lr,
                double beta1, double beta2, double eps, double weight_decay, std::int64_t update) {
  run(kOps[kAdamw], {param, grad, exp_avg, exp_avg_sq}, {lr, beta1, beta2, eps, weight_decay, update});
}
void lerp_(const Tensor& buffer, const Tensor& statistic, double momentum) {
  run(kOps[kLerp], {buffer, statistic}, {momentum});
}
void scale_(const Tensor& x, double s) { run(kOps[kScale], {x}, {s}); }

}  // namespace lockstep
