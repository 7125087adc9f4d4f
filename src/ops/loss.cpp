// Losses per row or element: cross entropy on logits, binary cross entropy on logits.
#include <limits>

#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

enum : std::size_t { kSmoothing, kIgnore };
constexpr std::string_view kInputs[] = {"logits", "target", "weight?"};
constexpr std::string_view kBackwardInputs[] = {"logits", "target", "weight?", "g"};
constexpr std::string_view kBceInputs[] = {"logits", "target"};
constexpr AttrDef kAttrs[] = {{"label_smoothing", "Share of the target spread evenly over the classes, [0, 1].", 0.0},
                              {"ignore_index", "Rows with this target have loss and gradient +0.", std::int64_t{-100}}};

std::vector<Meta> infer_rows(const OpIn& c) {
  need_float(c, 0);
  need_rank(c, 0, 2);
  need_dtype(c, 1, DType::i64);
  need_rank(c, 1, 1);
  need_extent(c, 1, 0, c.in[0].shape[0], "rows of logits");
  if (c.has(2)) {
    need_same_dtype(c, 0, 2);
    need_rank(c, 2, 1);
    need_extent(c, 2, 0, c.in[0].shape[1], "classes of logits");
  }
  const auto eps = c.attrs.get<double>(kSmoothing);
  if (!(eps >= 0 && eps <= 1)) refuse(c, fmt::format("label_smoothing is {}; it must lie in [0, 1]", eps));
  return result({c.in[0].shape[0]}, c.in[0].dtype);
}
std::vector<Meta> infer_rows_backward(const OpIn& c) {
  infer_rows(c);
  need_same_dtype(c, 0, 3);
  need_rank(c, 3, 1);
  need_extent(c, 3, 0, c.in[0].shape[0], "rows of logits");
  return result(c.in[0].shape, c.in[0].dtype);
}
std::int64_t flops(const OpIn& c) { return 6 * c.in[0].shape.numel(); }

/// What both directions need of the targets: which class is hit, whether the row counts, and the rows that have no
/// valid class.
struct Rows {
  Tensor hit;         // [n, c] bool
  Tensor ignored;     // [n, 1] bool
  Tensor invalid;     // [n, 1] bool: neither ignored nor a class
  Tensor weight;      // [c], ones without weights
  Tensor row_weight;  // [n, 1]
};
Rows rows_of(const Tensor& logits, const Tensor& target, const Tensor& weight, const Attrs& attrs) {
  const std::int64_t n = logits.size(0), c = logits.size(1);
  const DType t = logits.dtype();
  const Tensor zero = fill({}, 0, t), column = reshape(target, {n, 1});
  Rows r;
  r.hit = cast(one_hot(target, c, t), DType::boolean);
  r.ignored = eq(column, fill({}, static_cast<double>(attrs.get<std::int64_t>(kIgnore)), DType::i64));
  const Tensor counted = where(r.ignored, fill({}, 1, t), sum(cast(r.hit, t), {1}, true));
  r.invalid = eq(counted, zero);
  r.weight = weight.defined() ? weight : expand(fill({}, 1, t), {c});
  r.row_weight = sum(where(r.hit, r.weight, zero), {1}, true);
  return r;
}
/// Rows without a valid class become NaN, ignored rows +0.
Tensor masked(const Rows& r, const Tensor& x) {
  const Tensor nan = constant_like(x, std::numeric_limits<double>::quiet_NaN());
  return where(r.ignored, constant_like(x, 0), where(r.invalid, nan, x));
}
double spread(const Tensor& logits, double eps) {
  return eps / static_cast<double>(std::max<std::int64_t>(1, logits.size(1)));
}

Tensors cross_entropy_reference(std::span<const Tensor> in, const Attrs& attrs) {
  const Rows r = rows_of(in[0], in[1], in[2], attrs);
  const double eps = attrs.get<double>(kSmoothing);
  const Tensor nll = neg(log_softmax(in[0]));
  Tensor loss = mul_scalar(mul(r.row_weight, sum(where(r.hit, nll, constant_like(nll, 0)), {1}, true)), 1 - eps);
  if (eps > 0) loss = add(loss, mul_scalar(sum(mul(nll, r.weight), {1}, true), spread(in[0], eps)));
  return {reshape(masked(r, loss), {in[0].size(0)})};
}
Tensors cross_entropy_vjp(const Vjp& c) {
  const double eps = c.attrs.get<double>(kSmoothing);
  Tensors out(3);
  if (c.wants(0))
    out[0] = cross_entropy_backward(c.in[0], c.in[1], c.in[2], c.grad[0], eps, c.attrs.get<std::int64_t>(kIgnore));
  if (c.wants(2)) {  // (1 - eps) hit nll + eps / c nll, per class
    const Rows r = rows_of(c.in[0], c.in[1], c.in[2], c.attrs);
    const Tensor nll = neg(log_softmax(c.in[0]));
    const Tensor per =
        add(mul_scalar(where(r.hit, nll, constant_like(nll, 0)), 1 - eps), mul_scalar(nll, spread(c.in[0], eps)));
    out[2] = sum(mul(masked(r, per), reshape(c.grad[0], {c.in[0].size(0), 1})), {0});
  }
  return out;
}
Tensors cross_entropy_backward_reference(std::span<const Tensor> in, const Attrs& attrs) {
  const Rows r = rows_of(in[0], in[1], in[2], attrs);
  const double eps = attrs.get<double>(kSmoothing);
  const Tensor p = softmax(in[0]);
  Tensor d = mul_scalar(mul(r.row_weight, sub(p, cast(r.hit, p.dtype()))), 1 - eps);
  if (eps > 0) d = add(d, mul_scalar(sub(mul(p, sum(r.weight, {0}, true)), r.weight), spread(in[0], eps)));
  return {masked(r, mul(d, reshape(in[3], {in[0].size(0), 1})))};
}

std::vector<Meta> infer_bce(const OpIn& c) {
  need_float(c, 0);
  need_same_dtype(c, 0, 1);
  need_same_shape(c, 0, 1);
  return result(c.in[0].shape, c.in[0].dtype);
}
Tensors bce_reference(std::span<const Tensor> in, const Attrs&) {
  return {add(sub(relu(in[0]), mul(in[0], in[1])), log1p(exp(neg(abs(in[0])))))};
}
Tensors bce_vjp(const Vjp& c) {
  Tensors out(2);
  if (c.wants(0)) out[0] = mul(c.grad[0], sub(sigmoid(c.in[0]), c.in[1]));
  if (c.wants(1)) out[1] = neg(mul(c.grad[0], c.in[0]));
  return out;
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> rows_samples(bool backward) {
  std::vector<OpSample> out;
  const auto push = [&](std::int64_t n, std::int64_t c, bool weight, double eps, std::int64_t ignore) {
    OpSample s{.in = {{.shape = {n, c}},
                      {.shape = {n}, .dtype = DType::i64, .high_int = c},
                      {.shape = {c}, .low = 0.5, .high = 2, .present = weight}},
               .attrs = {eps, ignore},
               .check_gradient = n * c < 60};
    if (backward) s.in.push_back({.shape = {n}});
    out.push_back(std::move(s));
  };
  push(3, 4, false, 0, -100);
  push(3, 4, true, 0, -100);
  push(5, 3, false, 0.1, 1);
  push(5, 3, true, 0.1, 1);
  push(0, 3, false, 0, -100);
  push(2, 1, false, 0.2, -100);
  push(17, 37, true, 0.1, 5);
  push(64, 10, false, 0, -100);
  push(3, 5003, false, 0, -100);
  push(700, 101, true, 0.1, 7);
  return out;
}
std::vector<OpSample> ce_samples() { return rows_samples(false); }
std::vector<OpSample> ce_backward_samples() { return rows_samples(true); }
std::vector<OpSample> bce_samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{0, 2}, Shape{}, Shape{37}})
    out.push_back({.in = {{.shape = s, .low = -3, .high = 3}, {.shape = s, .low = 0, .high = 1}}});
  return out;
}
std::vector<BadSample> bad_rows() {
  return {{.in = {{.shape = {3, 4}}, {.shape = {2}, .dtype = DType::i64}},
           .attrs = {0.0, std::int64_t{-100}},
           .expect = "axis 0 of input 'target' [2] has 2 elements; it must have 3, the rows of logits"},
          {.in = {{.shape = {3, 4}}, {.shape = {3}}},
           .attrs = {0.0, std::int64_t{-100}},
           .expect = "'target' [3] has dtype float32; it must be int64"},
          {.in = {{.shape = {3, 4}}, {.shape = {3}, .dtype = DType::i64}, {.shape = {5}}},
           .attrs = {0.0, std::int64_t{-100}},
           .expect = "it must have 4, the classes of logits"},
          {.in = {{.shape = {3, 4}}, {.shape = {3}, .dtype = DType::i64}},
           .attrs = {1.5, std::int64_t{-100}},
           .expect = "label_smoothing is 1.5"}};
}
std::vector<BadSample> bad_rows_backward() {
  return {
      {.in = {{.shape = {3, 4}}, {.shape = {3}, .dtype = DType::i64}, {.shape = {4}, .present = false}, {.shape = {2}}},
       .attrs = {0.0, std::int64_t{-100}},
       .expect = "axis 0 of input 'g' [2] has 2 elements; it must have 3"}};
}
std::vector<BadSample> bad_bce() {
  return {{.in = {{.shape = {3}}, {.shape = {3, 1}}},
           .expect = "inputs 'logits' [3] and 'target' [3, 1] must have equal shapes"}};
}
#else
constexpr SamplesFn ce_samples = nullptr, ce_backward_samples = nullptr, bce_samples = nullptr;
constexpr BadSamplesFn bad_rows = nullptr, bad_rows_backward = nullptr, bad_bce = nullptr;
#endif

enum : std::size_t { kCrossEntropy, kCrossEntropyBackward, kBce };
constexpr OpDef kOps[] = {
    {.name = "cross_entropy",
     .doc = "Per row [n] of logits [n, c] and target t [n]: (1 - eps) w_t nll_t + eps / c * sum_j w_j nll_j with nll = "
            "-log_softmax(logits), "
            "eps = label_smoothing, w = weight or 1. Rows whose target is ignore_index give +0; other targets outside "
            "[0, c) give NaN.",
     .inputs = kInputs,
     .attrs = kAttrs,
     .infer = infer_rows,
     .reference = cross_entropy_reference,
     .vjp = cross_entropy_vjp,
     .saves = Save::inputs,
     .autocast = Autocast::full,
     .flops = flops,
     .onnx = "SoftmaxCrossEntropyLoss",
     .samples = ce_samples,
     .bad_samples = bad_rows},
    {.name = "cross_entropy_backward",
     .doc = "Derivative of cross_entropy by the logits: g ((1 - eps) w_t (p - hit) + eps / c (p sum(w) - w)), p = "
            "softmax(logits), hit the one-hot "
            "target; ignored rows are +0.",
     .inputs = kBackwardInputs,
     .attrs = kAttrs,
     .infer = infer_rows_backward,
     .reference = cross_entropy_backward_reference,
     .autocast = Autocast::full,
     .flops = flops,
     .samples = ce_backward_samples,
     .bad_samples = bad_rows_backward},
    {.name = "bce_with_logits",
     .doc = "max(x, 0) - x t + log1p(exp(-|x|)), elementwise: the binary cross entropy of sigmoid(x) and t without "
            "overflow.",
     .inputs = kBceInputs,
     .infer = infer_bce,
     .reference = bce_reference,
     .vjp = bce_vjp,
     .saves = Save::inputs,
     .autocast = Autocast::full,
     .samples = bce_samples,
     .bad_samples = bad_bce},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_loss = kOps;

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight, double label_smoothing,
                     std::int64_t ignore_index) {
  return apply1(kOps[kCrossEntropy], {logits, target, weight}, {label_smoothing, ignore_index});
}
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& target, const Tensor& weight, const Tensor& g,
                              double label_smoothing, std::int64_t ignore_index) {
  return apply1(kOps[kCrossEntropyBackward], {logits, target, weight, g}, {label_smoothing, ignore_index});
}
Tensor bce_with_logits(const Tensor& logits, const Tensor& target) { return apply1(kOps[kBce], {logits, target}); }

}  // namespace lockstep
