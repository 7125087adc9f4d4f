// Ops that look into their input's storage: reshape, permute, expand, narrow, and their short forms.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kReshapeAttrs[] = {{"shape", "The new extents; one may be -1 and is worked out.", Shape{}}};
constexpr AttrDef kPermuteAttrs[] = {{"axes", "Axis i of the result is axis axes[i] of x.", Shape{}}};
constexpr AttrDef kExpandAttrs[] = {{"shape", "The new extents, aligned at the right; -1 keeps an extent.", Shape{}}};
constexpr AttrDef kNarrowAttrs[] = {{"axis", "The axis to cut.", std::int64_t{0}},
                                    {"start", "First index kept.", std::int64_t{0}},
                                    {"length", "How many are kept.", std::int64_t{0}}};

std::vector<Meta> view(const OpIn& c, const Shape& s, const Strides& strides, std::int64_t offset) {
  return {Meta{s, c.in[0].dtype, View{0, strides, offset}}};
}

Shape resolved(const OpIn& c, const Shape& wanted) {
  const std::int64_t n = c.in[0].shape.numel();
  Shape out = wanted;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < out.rank(); ++i) {
    if (out[i] == -1) {
      if (open >= 0) refuse(c, fmt::format("shape {} has two extents of -1; at most one is worked out", text(wanted)));
      open = static_cast<std::int64_t>(i);
    } else if (out[i] < 0) {
      refuse(c, fmt::format("shape {} has the extent {}; extents are at least 0, or -1 once", text(wanted), out[i]));
    } else {
      known *= out[i];
    }
  }
  if (open >= 0 && known > 0 && n % known == 0) out[static_cast<std::size_t>(open)] = n / known;
  if (out.numel() != n || (open >= 0 && known == 0))
    refuse(c, fmt::format("input {} has {} elements, shape {} has {}; they must be equal", input_text(c, 0), n,
                          text(wanted), open >= 0 ? fmt::format("a multiple of {}", known) : fmt::format("{}", known)));
  return out;
}

/// The strides that show `x` as shape `s` without a copy, if there are any: axes are matched in groups of equal
/// products.
std::optional<Strides> view_strides(const Tensor& x, const Shape& s) {
  if (x.contiguous() || s.numel() == 0) return contiguous_strides(s);
  Shape extents;
  Strides steps{};
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x.shape()[i] == 1) continue;
    steps[extents.rank()] = x.strides()[i];
    extents.push_back(x.shape()[i]);
  }
  Strides out{};
  std::size_t from = 0, to = 0;
  while (from < extents.rank() && to < s.rank()) {
    std::size_t from_end = from + 1, to_end = to + 1;
    std::int64_t a = extents[from], b = s[to];
    while (a != b) {
      if (a < b)
        a *= extents[from_end++];
      else
        b *= s[to_end++];
    }
    for (std::size_t i = from; i + 1 < from_end; ++i)
      if (steps[i] != steps[i + 1] * extents[i + 1]) return std::nullopt;
    std::int64_t step = steps[from_end - 1];
    for (std::size_t i = to_end; i-- > to;) {
      out[i] = step;
      step *= s[i];
    }
    from = from_end;
    to = to_end;
  }
  return out;
}

std::vector<Meta> infer_reshape(const OpIn& c) {
  const Shape s = resolved(c, c.attrs.get<Shape>(0));
  if (const auto strides = view_strides(c.tensors[0], s)) return view(c, s, *strides, c.tensors[0].offset());
  return result(s, c.in[0].dtype);
}
Tensors reshape_reference(std::span<const Tensor> in, const Attrs& attrs) {
  return {reshape(contiguous(in[0]), attrs.get<Shape>(0))};
}
Tensors reshape_vjp(const Vjp& c) { return {reshape(c.grad[0], c.in[0].shape())}; }

std::vector<Meta> infer_permute(const OpIn& c) {
  const Shape& axes = c.attrs.get<Shape>(0);
  const Shape& from = c.in[0].shape;
  Shape s;
  Strides strides{};
  unsigned seen = 0;
  for (const std::int64_t a : axes) {
    if (axes.rank() != from.rank() || a < 0 || a >= static_cast<std::int64_t>(from.rank()) || ((seen >> a) & 1U) != 0)
      refuse(c, fmt::format("axes {} are no permutation of the {} axes of input {}", text(axes), from.rank(),
                            input_text(c, 0)));
    seen |= 1U << a;
    strides[s.rank()] = c.tensors[0].strides()[static_cast<std::size_t>(a)];
    s.push_back(from[static_cast<std::size_t>(a)]);
  }
  if (axes.rank() != from.rank())
    refuse(c, fmt::format("axes {} are no permutation of the {} axes of input {}", text(axes), from.rank(),
                          input_text(c, 0)));
  return view(c, s, strides, c.tensors[0].offset());
}
Tensors permute_vjp(const Vjp& c) {
  const Shape& axes = c.attrs.get<Shape>(0);
  Shape inverse = axes;
  for (std::size_t i = 0; i < axes.rank(); ++i)
    inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return {permute(c.grad[0], inverse)};
}

std::vector<Meta> infer_expand(const OpIn& c) {
  Shape s = c.attrs.get<Shape>(0);
  const Shape& from = c.in[0].shape;
  Strides strides{};
  bool fits = s.rank() >= from.rank();
  for (std::size_t i = 0; fits && i < s.rank(); ++i) {
    const std::size_t lead = s.rank() - from.rank();
    if (i < lead) {
      fits = s[i] >= 0;
      continue;
    }
    const std::int64_t have = from[i - lead];
    if (s[i] == -1) s[i] = have;
    fits = have == s[i] || have == 1;
    strides[i] = have == 1 && s[i] != 1 ? 0 : c.tensors[0].strides()[i - lead];
  }
  if (!fits)
    refuse(c, fmt::format("input {} does not expand to {}: aligned at the right, extents must be equal or 1",
                          input_text(c, 0), text(c.attrs.get<Shape>(0))));
  return view(c, s, strides, c.tensors[0].offset());
}
Tensors expand_vjp(const Vjp& c) { return {c.grad[0]}; }  // the walk sums it down

std::vector<Meta> infer_narrow(const OpIn& c) {
  const std::size_t axis = need_axis(c, 0);
  const auto start = c.attrs.get<std::int64_t>(1), length = c.attrs.get<std::int64_t>(2);
  Shape s = c.in[0].shape;
  if (start < 0 || length < 0 || start > s[axis] - length)
    refuse(c, fmt::format("[{}, {}) of axis {} lies outside input {}", start, start + length, axis, input_text(c, 0)));
  s[axis] = length;
  const Tensor& x = c.tensors[0];
  return view(c, s, x.strides(), x.offset() + (length == 0 ? 0 : start * x.strides()[axis]));
}
Tensors narrow_vjp(const Vjp& c) {
  const auto axis = c.attrs.get<std::int64_t>(0), start = c.attrs.get<std::int64_t>(1),
             length = c.attrs.get<std::int64_t>(2);
  return {pad_axis(c.grad[0], axis, start, c.in[0].size(axis) - start - length)};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> reshape_samples() {
  return {{.in = {{.shape = {3, 4}}}, .attrs = {Shape{2, 6}}}, {.in = {{.shape = {2, 3, 4}}}, .attrs = {Shape{-1, 4}}},
          {.in = {{.shape = {0, 4}}}, .attrs = {Shape{4, 0}}}, {.in = {{.shape = {}}}, .attrs = {Shape{1, 1}}},
          {.in = {{.shape = {1, 7}}}, .attrs = {Shape{7}}},    {.in = {{.shape = {1}}}, .attrs = {Shape{}}}};
}
std::vector<OpSample> permute_samples() {
  return {{.in = {{.shape = {3, 4}}}, .attrs = {Shape{1, 0}}},
          {.in = {{.shape = {2, 3, 5}}}, .attrs = {Shape{2, 0, 1}}},
          {.in = {{.shape = {}}}, .attrs = {Shape{}}},
          {.in = {{.shape = {0, 2}}}, .attrs = {Shape{1, 0}}}};
}
std::vector<OpSample> expand_samples() {
  return {{.in = {{.shape = {3, 1}}}, .attrs = {Shape{3, 5}}},
          {.in = {{.shape = {}}}, .attrs = {Shape{2, 3}}},
          {.in = {{.shape = {1, 4}}}, .attrs = {Shape{2, -1, 4}}},
          {.in = {{.shape = {1}}}, .attrs = {Shape{0}}}};
}
std::vector<OpSample> narrow_samples() {
  const std::int64_t o = 0, i = 1, ii = 2;
  return {{.in = {{.shape = {5, 3}}}, .attrs = {o, i, ii}},
          {.in = {{.shape = {2, 7}}}, .attrs = {i, o, std::int64_t{7}}},
          {.in = {{.shape = {4}}}, .attrs = {o, ii, o}},
          {.in = {{.shape = {2, 3, 4}}}, .attrs = {ii, i, i}}};
}
std::vector<BadSample> bad_reshape() {
  return {{.in = {{.shape = {3, 4}}},
           .attrs = {Shape{5, -1}},
           .expect = "'x' [3, 4] has 12 elements, shape [5, -1] has a multiple of 5"},
          {.in = {{.shape = {3, 4}}},
           .attrs = {Shape{5}},
           .expect = "has 12 elements, shape [5] has 5; they must be equal"},
          {.in = {{.shape = {4}}}, .attrs = {Shape{-1, -1}}, .expect = "two extents of -1"},
          {.in = {{.shape = {4}}}, .attrs = {Shape{-2}}, .expect = "has the extent -2"}};
}
std::vector<BadSample> bad_permute() {
  return {{.in = {{.shape = {3, 4}}}, .attrs = {Shape{0, 0}}, .expect = "axes [0, 0] are no permutation of the 2 axes"},
          {.in = {{.shape = {3, 4}}}, .attrs = {Shape{}}, .expect = "axes [] are no permutation of the 2 axes"}};
}
std::vector<BadSample> bad_expand() {
  return {{.in = {{.shape = {3, 2}}}, .attrs = {Shape{3, 5}}, .expect = "'x' [3, 2] does not expand to [3, 5]"},
          {.in = {{.shape = {3, 2}}}, .attrs = {Shape{2}}, .expect = "'x' [3, 2] does not expand to [2]"}};
}
std::vector<BadSample> bad_narrow() {
  const std::int64_t o = 0, ii = 2, v = 5;
  return {{.in = {{.shape = {4}}}, .attrs = {o, ii, ii + 1}, .expect = "[2, 5) of axis 0 lies outside input 'x' [4]"},
          {.in = {{.shape = {4}}}, .attrs = {v, o, o}, .expect = "axis 5 is outside [0, 1) of input 'x' [4]"}};
}
#else
constexpr SamplesFn reshape_samples = nullptr, permute_samples = nullptr, expand_samples = nullptr,
                    narrow_samples = nullptr;
constexpr BadSamplesFn bad_reshape = nullptr, bad_permute = nullptr, bad_expand = nullptr, bad_narrow = nullptr;
#endif

enum : std::size_t { kReshape, kPermute, kExpand, kNarrow };
constexpr OpDef kOps[] = {
    {.name = "reshape",
     .doc = "The elements of x in row-major order under another shape; a view where the layout allows it, else a copy.",
     .inputs = kX,
     .attrs = kReshapeAttrs,
     .infer = infer_reshape,
     .reference = reshape_reference,
     .vjp = reshape_vjp,
     .view = true,
     .onnx = "Reshape",
     .samples = reshape_samples,
     .bad_samples = bad_reshape},
    {.name = "permute",
     .doc = "x with its axes in another order; a view.",
     .inputs = kX,
     .attrs = kPermuteAttrs,
     .infer = infer_permute,
     .vjp = permute_vjp,
     .view = true,
     .onnx = "Transpose",
     .samples = permute_samples,
     .bad_samples = bad_permute},
    {.name = "expand",
     .doc = "x with axes of extent 1 repeated; a view with stride 0.",
     .inputs = kX,
     .attrs = kExpandAttrs,
     .infer = infer_expand,
     .vjp = expand_vjp,
     .view = true,
     .onnx = "Expand",
     .samples = expand_samples,
     .bad_samples = bad_expand},
    {.name = "narrow",
     .doc = "Indices [start, start + length) of one axis; a view.",
     .inputs = kX,
     .attrs = kNarrowAttrs,
     .infer = infer_narrow,
     .vjp = narrow_vjp,
     .view = true,
     .onnx = "Slice",
     .samples = narrow_samples,
     .bad_samples = bad_narrow},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_view = kOps;

Tensor reshape(const Tensor& x, const Shape& s) { return apply1(kOps[kReshape], {x}, {s}); }
Tensor permute(const Tensor& x, const Shape& axes) {
  Shape normal = axes;
  for (std::size_t i = 0; i < axes.rank(); ++i)
    normal[i] = static_cast<std::int64_t>(normalize_axis(axes[i], x.rank(), "permute"));
  return apply1(kOps[kPermute], {x}, {normal});
}
Tensor transpose(const Tensor& x, std::int64_t a, std::int64_t b) {
  const std::size_t i = normalize_axis(a, x.rank(), "transpose"), j = normalize_axis(b, x.rank(), "transpose");
  Shape axes = x.shape();
  for (std::size_t k = 0; k < axes.rank(); ++k) axes[k] = static_cast<std::int64_t>(k == i ? j : k == j ? i : k);
  return apply1(kOps[kPermute], {x}, {axes});
}
Tensor expand(const Tensor& x, const Shape& s) { return apply1(kOps[kExpand], {x}, {s}); }
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  return apply1(kOps[kNarrow], {x},
                {static_cast<std::int64_t>(normalize_axis(axis, x.rank(), "narrow")), start, length});
}
Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t end) {
  if (x.rank() == 0) return reshape(x, {1});
  const std::size_t first = normalize_axis(start, x.rank(), "flatten"), last = normalize_axis(end, x.rank(), "flatten");
  if (first > last)
    failf(Category::usage, "flatten: start axis {} lies behind end axis {} of a tensor of shape {}", start, end,
          text(x.shape()));
  Shape s;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i > first && i <= last)
      s[first] *= x.shape()[i];
    else
      s.push_back(x.shape()[i]);
  }
  return reshape(x, s);
}

}  // namespace lockstep
