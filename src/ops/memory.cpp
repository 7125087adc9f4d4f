// Copies, casts, constants and padding.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr std::string_view kToFrom[] = {"to", "from"};
constexpr AttrDef kCastAttrs[] = {{"to", "The dtype of the result.", DType::f32}};
constexpr AttrDef kFillAttrs[] = {{"shape", "Extents of the result.", Shape{}},
                                  {"value", "Every element, rounded once to the dtype.", 0.0},
                                  {"dtype", "The dtype of the result.", DType::f32}};
constexpr AttrDef kPadAttrs[] = {{"axis", "The axis that grows.", std::int64_t{0}},
                                 {"before", "Zeros before index 0.", std::int64_t{0}},
                                 {"after", "Zeros behind the last index.", std::int64_t{0}}};

bool reserved(DType t) { return t == DType::bf16 || t == DType::f16 || t == DType::i8; }

std::vector<Meta> infer_contiguous(const OpIn& c) { return result(c.in[0].shape, c.in[0].dtype); }
Tensors contiguous_vjp(const Vjp& c) { return {c.grad[0]}; }

std::vector<Meta> infer_cast(const OpIn& c) {
  const auto to = c.attrs.get<DType>(0);
  for (const DType t : {c.in[0].dtype, to})
    if (reserved(t))
      refuse(c, fmt::format("dtype {} is reserved for storage; float32, float64, int64, int32, uint8 and bool convert",
                            text(t)));
  return result(c.in[0].shape, to);
}
Tensors cast_vjp(const Vjp& c) { return {cast(c.grad[0], c.in[0].dtype())}; }

std::vector<Meta> infer_fill(const OpIn& c) {
  const auto& s = c.attrs.get<Shape>(0);
  const auto t = c.attrs.get<DType>(2);
  for (const std::int64_t d : s)
    if (d < 0) refuse(c, fmt::format("shape {} has a negative extent; extents are at least 0", text(s)));
  if (reserved(t)) refuse(c, fmt::format("dtype {} is reserved for storage; fill float32 and cast", text(t)));
  return result(s, t);
}

std::vector<Meta> infer_pad(const OpIn& c) {
  need_float(c, 0);
  const std::size_t axis = need_axis(c, 0);
  const auto before = c.attrs.get<std::int64_t>(1), after = c.attrs.get<std::int64_t>(2);
  if (before < 0 || after < 0)
    refuse(c, fmt::format("padding {} before and {} after; both must be at least 0", before, after));
  Shape s = c.in[0].shape;
  s[axis] += before + after;
  return result(s, c.in[0].dtype);
}
Tensors pad_vjp(const Vjp& c) {
  const auto axis = c.attrs.get<std::int64_t>(0);
  return {narrow(c.grad[0], axis, c.attrs.get<std::int64_t>(1), c.in[0].size(axis))};
}

std::vector<Meta> infer_copy(const OpIn& c) {
  need_same_dtype(c, 0, 1);
  need_same_shape(c, 0, 1);
  return {};
}

#if LOCKSTEP_SAMPLES
constexpr DType kAll[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};
std::vector<OpSample> contiguous_samples() {
  std::vector<OpSample> out = one_input(-2, 2);
  for (const DType t : kAll) out.push_back({.in = {{.shape = {3, 5, 2}, .dtype = t}}});
  return out;
}
std::vector<OpSample> cast_samples() {
  std::vector<OpSample> out;
  for (const DType from : kAll)
    for (const DType to : kAll)
      for (const Shape& s : {Shape{5, 7}, Shape{}, Shape{0, 3}, Shape{67}})
        out.push_back({.in = {{.shape = s, .dtype = from, .low = -300, .high = 300}},
                       .attrs = {to},
                       .check_gradient = is_floating(from) && to == DType::f64});
  return out;
}
std::vector<OpSample> fill_samples() {
  std::vector<OpSample> out;
  for (const DType t : kAll)
    for (const Shape& s : {Shape{5, 7}, Shape{}, Shape{0}}) out.push_back({.in = {}, .attrs = {s, 1.5, t}});
  return out;
}
std::vector<OpSample> pad_samples() {
  const std::int64_t o = 0, i = 1, ii = 2;
  return {{.in = {{.shape = {3, 2}}}, .attrs = {o, i, ii}},
          {.in = {{.shape = {2, 5}}}, .attrs = {i, o, ii}},
          {.in = {{.shape = {0, 3}}}, .attrs = {o, ii, o}},
          {.in = {{.shape = {2, 3, 4}}}, .attrs = {i, i, i}},
          {.in = {{.shape = {1}}}, .attrs = {o, o, o}}};
}
std::vector<OpSample> copy_samples() {
  std::vector<OpSample> out;
  for (const DType t : kAll)
    for (const Shape& s : {Shape{3, 5}, Shape{}, Shape{0, 2}})
      out.push_back({.in = {{.shape = s, .dtype = t}, {.shape = s, .dtype = t}}});
  return out;
}
std::vector<BadSample> bad_cast() {
  return {{.in = {{.shape = {2}}}, .attrs = {DType::bf16}, .expect = "dtype bfloat16 is reserved"}};
}
std::vector<BadSample> bad_fill() {
  return {{.in = {}, .attrs = {Shape{-1}, 0.0, DType::f32}, .expect = "shape [-1] has a negative extent"},
          {.in = {}, .attrs = {Shape{1}, 0.0, DType::f16}, .expect = "dtype float16 is reserved"}};
}
std::vector<BadSample> bad_pad() {
  const std::int64_t o = 0;
  return {{.in = {{.shape = {2}}}, .attrs = {o, std::int64_t{-1}, o}, .expect = "padding -1 before and 0 after"}};
}
std::vector<BadSample> bad_copy() {
  return {{.in = {{.shape = {2}}, {.shape = {3}}}, .expect = "inputs 'to' [2] and 'from' [3] must have equal shapes"},
          {.in = {{.shape = {2}}, {.shape = {2}, .dtype = DType::i64}}, .expect = "have dtypes float32 and int64"}};
}
#else
constexpr SamplesFn contiguous_samples = nullptr, cast_samples = nullptr, fill_samples = nullptr, pad_samples = nullptr,
                    copy_samples = nullptr;
constexpr BadSamplesFn bad_cast = nullptr, bad_fill = nullptr, bad_pad = nullptr, bad_copy = nullptr;
#endif

enum : std::size_t { kContiguous, kCast, kFill, kPad, kCopy };
constexpr OpDef kOps[] = {
    {.name = "contiguous",
     .doc = "The same values in row-major memory.",
     .inputs = kX,
     .infer = infer_contiguous,
     .vjp = contiguous_vjp,
     .onnx = "Identity",
     .samples = contiguous_samples},
    {.name = "cast",
     .doc = "x in another dtype. Float to integer truncates toward zero, out of range saturates, NaN gives 0; to bool: "
            "x != 0, NaN is true; "
            "float64 to float32 rounds to nearest even.",
     .inputs = kX,
     .attrs = kCastAttrs,
     .infer = infer_cast,
     .vjp = cast_vjp,
     .elementwise = true,
     .onnx = "Cast",
     .samples = cast_samples,
     .bad_samples = bad_cast},
    {.name = "fill",
     .doc = "A tensor of one value.",
     .inputs = {},
     .attrs = kFillAttrs,
     .infer = infer_fill,
     .gradient = Gradient::none,
     .onnx = "ConstantOfShape",
     .samples = fill_samples,
     .bad_samples = bad_fill},
    {.name = "pad_axis",
     .doc = "x with zeros before and behind it along one axis.",
     .inputs = kX,
     .attrs = kPadAttrs,
     .infer = infer_pad,
     .vjp = pad_vjp,
     .onnx = "Pad",
     .samples = pad_samples,
     .bad_samples = bad_pad},
    {.name = "copy_",
     .doc = "Writes the elements of `from` into `to`; shapes and dtypes are equal, layouts are free.",
     .inputs = kToFrom,
     .infer = infer_copy,
     .gradient = Gradient::none,
     .mutates = 1,
     .samples = copy_samples,
     .bad_samples = bad_copy},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_memory = kOps;

Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : apply1(kOps[kContiguous], {x}); }
Tensor cast(const Tensor& x, DType t) { return x.dtype() == t ? x : apply1(kOps[kCast], {x}, {t}); }
Tensor fill(const Shape& s, double value, DType t, Device d) {
  return d == Device::meta ? Tensor::empty(s, t, d) : apply1(kOps[kFill], {}, {s, value, t});
}
Tensor pad_axis(const Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after) {
  return apply1(kOps[kPad], {x},
                {static_cast<std::int64_t>(normalize_axis(axis, x.rank(), "pad_axis")), before, after});
}
void copy_(const Tensor& to, const Tensor& from) {
  if (to.id() == from.id()) return;
  // Overlapping views: the source is taken out of the way first.
  const Tensor source = to.same_storage(from) ? apply1(kOps[kContiguous], {from}) : from;
  const Tensor in[] = {to, source};
  apply(kOps[kCopy], in, {});
}

}  // namespace lockstep
