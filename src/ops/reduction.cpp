// Sums, means, variances and extrema over axes.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kAxesAttrs[] = {
    {"axes", "Axes that are reduced: ascending, not empty unless x is a scalar.", Shape{}},
    {"keepdim", "Keep reduced axes with extent 1.", false}};
constexpr AttrDef kVarAttrs[] = {{"axes", "Axes that are reduced: ascending, not empty unless x is a scalar.", Shape{}},
                                 {"keepdim", "Keep reduced axes with extent 1.", false},
                                 {"unbiased", "Divide by n - 1 instead of n.", false}};
constexpr AttrDef kArgmaxAttrs[] = {{"axis", "The axis that is searched.", std::int64_t{0}},
                                    {"keepdim", "Keep the axis with extent 1.", false}};

/// `keep`: reduced axes stay with extent 1.
Shape reduced(const Shape& s, const Shape& axes, bool keep) {
  Shape out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < s.rank(); ++i) {
    if (next < axes.rank() && axes[next] == static_cast<std::int64_t>(i)) {
      ++next;
      if (keep) out.push_back(1);
    } else {
      out.push_back(s[i]);
    }
  }
  return out;
}
std::int64_t reduced_count(const Shape& s, const Shape& axes) {
  std::int64_t n = 1;
  for (const std::int64_t a : axes) n *= s[static_cast<std::size_t>(a)];
  return n;
}

std::vector<Meta> infer_axes(const OpIn& c) {
  const auto& axes = c.attrs.get<Shape>(0);
  const Shape& s = c.in[0].shape;
  bool ok = axes.rank() > 0 || s.rank() == 0;
  for (std::size_t i = 0; i < axes.rank(); ++i)
    ok = ok && axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(s.rank()) && (i == 0 || axes[i] > axes[i - 1]);
  if (!ok)
    refuse(c, fmt::format("axes {} of input {}: they must be distinct, ascending, inside [0, {}) and not empty",
                          text(axes), input_text(c, 0), s.rank()));
  return result(reduced(s, axes, c.attrs.get<bool>(1)), c.in[0].dtype);
}
std::vector<Meta> infer_sum(const OpIn& c) {
  if (c.in[0].dtype != DType::i64) need_float(c, 0);
  return infer_axes(c);
}
std::vector<Meta> infer_float(const OpIn& c) {
  need_float(c, 0);
  return infer_axes(c);
}
std::vector<Meta> infer_amax(const OpIn& c) {
  std::vector<Meta> out = infer_float(c);
  if (reduced_count(c.in[0].shape, c.attrs.get<Shape>(0)) == 0 && out[0].shape.numel() > 0)
    refuse(c, fmt::format("the reduced axes {} of input {} are empty; the largest of no elements does not exist",
                          text(c.attrs.get<Shape>(0)), input_text(c, 0)));
  return out;
}
std::vector<Meta> infer_argmax(const OpIn& c) {
  need_float(c, 0);
  const std::size_t axis = need_axis(c, 0);
  const Shape out = reduced(c.in[0].shape, {static_cast<std::int64_t>(axis)}, c.attrs.get<bool>(1));
  if (c.in[0].shape[axis] == 0 && out.numel() > 0)
    refuse(c, fmt::format("axis {} of input {} is empty; the largest of no elements does not exist", axis,
                          input_text(c, 0)));
  return result(out, DType::i64);
}
std::vector<Meta> infer_total(const OpIn& c) {
  need_float(c, 0);
  return result({}, DType::f64);
}
std::int64_t flops_input(const OpIn& c) { return c.in[0].shape.numel(); }

Tensor keep_axes(const Vjp& c, const Tensor& t) {
  return reshape(t, reduced(c.in[0].shape(), c.attrs.get<Shape>(0), true));
}

Tensors sum_vjp(const Vjp& c) { return {expand(keep_axes(c, c.grad[0]), c.in[0].shape())}; }
Tensors amax_vjp(const Vjp& c) {
  const Tensor hit = cast(eq(c.in[0], keep_axes(c, c.out[0])), c.in[0].dtype());
  const Tensor share = div(keep_axes(c, c.grad[0]), sum(hit, c.attrs.get<Shape>(0), true));
  return {mul(hit, share)};
}
Tensors total_vjp(const Vjp& c) { return {expand(cast(c.grad[0], c.in[0].dtype()), c.in[0].shape())}; }

Tensors sum_squares_reference(std::span<const Tensor> in, const Attrs&) {
  const Tensor wide = cast(in[0], DType::f64);
  return {total(mul(wide, wide))};
}
Tensors sum_squares_vjp(const Vjp& c) { return {mul(c.in[0], cast(mul_scalar(c.grad[0], 2), c.in[0].dtype()))}; }

Tensor divided(const Tensor& x, double n) { return div(x, constant_like(x, n)); }

Tensors mean_reference(std::span<const Tensor> in, const Attrs& attrs) {
  const auto& axes = attrs.get<Shape>(0);
  return {divided(sum(in[0], axes, attrs.get<bool>(1)), static_cast<double>(reduced_count(in[0].shape(), axes)))};
}
Tensors var_reference(std::span<const Tensor> in, const Attrs& attrs) {
  const auto& axes = attrs.get<Shape>(0);
  const Tensor d = sub(in[0], mean(in[0], axes, true));
  const auto n = static_cast<double>(reduced_count(in[0].shape(), axes));
  return {divided(sum(mul(d, d), axes, attrs.get<bool>(1)), attrs.get<bool>(2) ? n - 1 : n)};
}

Shape normal_axes(const Tensor& x, const Shape& axes, std::string_view op) {
  Shape out;
  unsigned seen = 0;
  for (const std::int64_t a : axes) {
    const std::size_t i = normalize_axis(a, x.rank(), op);
    if (((seen >> i) & 1U) != 0)
      failf(Category::usage, "{}: axes {} name axis {} twice; axes are distinct", op, text(axes), i);
    seen |= 1U << i;
  }
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (axes.rank() == 0 || ((seen >> i) & 1U) != 0) out.push_back(static_cast<std::int64_t>(i));
  return out;
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> with_axes(bool var, bool empties) {
  std::vector<OpSample> out;
  const std::vector<std::pair<Shape, Shape>> cases = {
      {Shape{3, 5}, Shape{1}},   {Shape{3, 5}, Shape{0}},       {Shape{3, 5}, Shape{0, 1}},
      {Shape{}, Shape{}},        {Shape{2, 3, 4}, Shape{0, 2}}, {Shape{2, 3, 4}, Shape{1}},
      {Shape{1, 7}, Shape{1}},   {Shape{0, 4}, Shape{1}},       {Shape{3, 331}, Shape{1}},
      {Shape{331, 3}, Shape{0}}, {Shape{7, 9973}, Shape{1}},    {Shape{9973, 7}, Shape{0}}};
  for (const auto& [s, axes] : cases)
    for (const bool keep : {false, true}) {
      const bool gradient = s.numel() < 100;
      out.push_back({.in = {{.shape = s}},
                     .attrs = var ? Attrs{axes, keep, false} : Attrs{axes, keep},
                     .check_gradient = gradient});
    }
  if (empties) out.push_back({.in = {{.shape = {0, 4}}}, .attrs = {Shape{0}, false}});
  if (empties) out.push_back({.in = {{.shape = {2, 9001}}}, .attrs = {Shape{1}, false}, .check_gradient = false});
  if (var) out.push_back({.in = {{.shape = {3, 5}}}, .attrs = {Shape{0}, false, true}});
  return out;
}
std::vector<OpSample> sum_samples() {
  std::vector<OpSample> out = with_axes(false, true);
  out.push_back({.in = {{.shape = {4, 3}, .dtype = DType::i64, .high_int = 100}}, .attrs = {Shape{0}, false}});
  return out;
}
std::vector<OpSample> mean_samples() { return with_axes(false, false); }
std::vector<OpSample> var_samples() { return with_axes(true, false); }
std::vector<OpSample> amax_samples() { return with_axes(false, false); }
std::vector<OpSample> argmax_samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{7, 1}, Shape{4, 37}, Shape{0, 3}, Shape{260, 263}})
    for (std::int64_t axis = 0; axis < 2; ++axis)
      if (s[static_cast<std::size_t>(axis)] > 0) out.push_back({.in = {{.shape = s}}, .attrs = {axis, axis == 0}});
  out.push_back({.in = {{.shape = {2, 3, 4}}}, .attrs = {std::int64_t{1}, false}});
  return out;
}
std::vector<OpSample> total_samples() {
  std::vector<OpSample> out = one_input(-2, 2);
  for (const Shape& s : {Shape{3, 4099}, Shape{17, 4099}})
    out.push_back({.in = {{.shape = s}}, .check_gradient = false});
  return out;
}
std::vector<BadSample> bad_axes() {
  return {{.in = {{.shape = {3, 4}}},
           .attrs = {Shape{1, 0}, false},
           .expect = "axes [1, 0] of input 'x' [3, 4]: they must be distinct, ascending"},
          {.in = {{.shape = {3, 4}}}, .attrs = {Shape{2}, false}, .expect = "inside [0, 2)"},
          {.in = {{.shape = {3}, .dtype = DType::u8}},
           .attrs = {Shape{0}, false},
           .expect = "has dtype uint8; it must be float32 or float64"}};
}
std::vector<BadSample> bad_amax() {
  return {{.in = {{.shape = {2, 0}}},
           .attrs = {Shape{1}, false},
           .expect = "the reduced axes [1] of input 'x' [2, 0] are empty"}};
}
std::vector<BadSample> bad_var() {
  return {{.in = {{.shape = {3}}}, .attrs = {Shape{}, false, false}, .expect = "not empty"}};
}
std::vector<BadSample> bad_argmax() {
  return {
      {.in = {{.shape = {2, 0}}}, .attrs = {std::int64_t{1}, false}, .expect = "axis 1 of input 'x' [2, 0] is empty"},
      {.in = {{.shape = {2}}}, .attrs = {std::int64_t{1}, false}, .expect = "axis 1 is outside [0, 1)"}};
}
constexpr BadSamplesFn kBad = bad_integer;
#else
constexpr SamplesFn sum_samples = nullptr, mean_samples = nullptr, var_samples = nullptr, amax_samples = nullptr,
                    argmax_samples = nullptr, total_samples = nullptr;
constexpr BadSamplesFn bad_axes = nullptr, bad_amax = nullptr, bad_var = nullptr, bad_argmax = nullptr, kBad = nullptr;
#endif

enum : std::size_t { kSum, kMean, kVar, kAmax, kArgmax, kTotal, kSumSquares };
constexpr OpDef kOps[] = {
    {.name = "sum",
     .doc = "Sum over axes in the order of A4; 0 over no elements.",
     .inputs = kX,
     .attrs = kAxesAttrs,
     .infer = infer_sum,
     .vjp = sum_vjp,
     .flops = flops_input,
     .onnx = "ReduceSum",
     .samples = sum_samples,
     .bad_samples = bad_axes},
    {.name = "mean",
     .doc = "sum / n, one division; NaN over no elements.",
     .inputs = kX,
     .attrs = kAxesAttrs,
     .infer = infer_float,
     .reference = mean_reference,
     .flops = flops_input,
     .onnx = "ReduceMean",
     .samples = mean_samples,
     .bad_samples = bad_axes},
    {.name = "var",
     .doc = "sum((x - mean)^2) / n, or / (n - 1) when unbiased; two passes.",
     .inputs = kX,
     .attrs = kVarAttrs,
     .infer = infer_float,
     .reference = var_reference,
     .flops = flops_input,
     .samples = var_samples,
     .bad_samples = bad_var},
    {.name = "amax",
     .doc = "The largest element; NaN wins (A10). Elements that tie share the gradient equally.",
     .inputs = kX,
     .attrs = kAxesAttrs,
     .infer = infer_amax,
     .vjp = amax_vjp,
     .saves = Save::both,
     .flops = flops_input,
     .onnx = "ReduceMax",
     .samples = amax_samples,
     .bad_samples = bad_amax},
    {.name = "argmax",
     .doc = "Index (int64) of the largest element: the lowest of equals; NaN counts as largest, the first NaN wins.",
     .inputs = kX,
     .attrs = kArgmaxAttrs,
     .infer = infer_argmax,
     .gradient = Gradient::none,
     .flops = flops_input,
     .onnx = "ArgMax",
     .samples = argmax_samples,
     .bad_samples = bad_argmax},
    {.name = "total",
     .doc = "Sum of all elements as a float64 scalar, accumulated in float64 with the tree of A4 (A5).",
     .inputs = kX,
     .infer = infer_total,
     .vjp = total_vjp,
     .flops = flops_input,
     .samples = total_samples,
     .bad_samples = kBad},
    {.name = "sum_squares",
     .doc = "Sum of squares as a float64 scalar: each element widened, squared by a plain product, added with the tree "
            "of A4 (A5).",
     .inputs = kX,
     .infer = infer_total,
     .reference = sum_squares_reference,
     .vjp = sum_squares_vjp,
     .saves = Save::inputs,
     .flops = flops_input,
     .samples = total_samples,
     .bad_samples = kBad},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_reduction = kOps;

Tensor sum(const Tensor& x, const Shape& axes, bool keepdim) {
  return apply1(kOps[kSum], {x}, {normal_axes(x, axes, "sum"), keepdim});
}
Tensor mean(const Tensor& x, const Shape& axes, bool keepdim) {
  return apply1(kOps[kMean], {x}, {normal_axes(x, axes, "mean"), keepdim});
}
Tensor var(const Tensor& x, const Shape& axes, bool keepdim, bool unbiased) {
  return apply1(kOps[kVar], {x}, {normal_axes(x, axes, "var"), keepdim, unbiased});
}
Tensor amax(const Tensor& x, const Shape& axes, bool keepdim) {
  return apply1(kOps[kAmax], {x}, {normal_axes(x, axes, "amax"), keepdim});
}
Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdim) {
  return apply1(kOps[kArgmax], {x}, {static_cast<std::int64_t>(normalize_axis(axis, x.rank(), "argmax")), keepdim});
}
Tensor sum_squares(const Tensor& x) { return apply1(kOps[kSumSquares], {x}); }
Tensor total(const Tensor& x) { return apply1(kOps[kTotal], {x}); }

}  // namespace lockstep
