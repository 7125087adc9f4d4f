// Selection and scatter by integer index, and one-hot rows.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kSelect[] = {"x", "index"};
constexpr std::string_view kAdd[] = {"x", "index", "source"};
constexpr std::string_view kIndex[] = {"index"};
constexpr AttrDef kAxisAttr[] = {{"axis", "The axis that index runs along.", std::int64_t{0}}};
constexpr AttrDef kOneHotAttrs[] = {{"classes", "Length of a row, at least 1.", std::int64_t{1}},
                                    {"dtype", "float32 or float64.", DType::f32}};

std::vector<Meta> infer_select(const OpIn& c) {
  need_float(c, 0);
  const std::size_t axis = need_axis(c, 0);
  need_dtype(c, 1, DType::i64);
  need_rank(c, 1, 1);
  Shape s = c.in[0].shape;
  s[axis] = c.in[1].shape[0];
  return result(s, c.in[0].dtype);
}
std::vector<Meta> infer_add(const OpIn& c) {
  const Shape wanted = infer_select(c)[0].shape;
  need_same_dtype(c, 0, 2);
  if (c.in[2].shape != wanted)
    refuse(c, fmt::format("input {} must have the shape {}: that of x with axis {} as long as index", input_text(c, 2),
                          text(wanted), c.attrs.get<std::int64_t>(0)));
  return result(c.in[0].shape, c.in[0].dtype);
}
std::vector<Meta> infer_one_hot(const OpIn& c) {
  need_dtype(c, 0, DType::i64);
  const auto classes = c.attrs.get<std::int64_t>(0);
  const auto t = c.attrs.get<DType>(1);
  if (classes < 1) refuse(c, fmt::format("classes is {}; it must be at least 1", classes));
  if (t != DType::f32 && t != DType::f64) refuse(c, fmt::format("dtype is {}; it must be float32 or float64", text(t)));
  if (c.in[0].shape.rank() >= kMaxRank)
    refuse(c, fmt::format("input {} has {} axes; one more would exceed {}", input_text(c, 0), c.in[0].shape.rank(),
                          kMaxRank));
  Shape s = c.in[0].shape;
  s.push_back(classes);
  return result(s, t);
}

Tensors select_vjp(const Vjp& c) {
  const auto axis = c.attrs.get<std::int64_t>(0);
  return {index_add(fill(c.in[0].shape(), 0, c.in[0].dtype()), axis, c.in[1], c.grad[0]), Tensor()};
}
Tensors add_vjp(const Vjp& c) {
  return {c.grad[0], Tensor(), c.wants(2) ? index_select(c.grad[0], c.attrs.get<std::int64_t>(0), c.in[1]) : Tensor()};
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> index_samples(bool add) {
  std::vector<OpSample> out;
  const auto push = [&](const Shape& x, std::int64_t axis, std::int64_t m) {
    Shape source = x;
    source[static_cast<std::size_t>(axis)] = m;
    OpSample s{.in = {{.shape = x}, {.shape = {m}, .dtype = DType::i64, .high_int = x[static_cast<std::size_t>(axis)]}},
               .attrs = {axis},
               .check_gradient = x.numel() + source.numel() < 120};
    if (add) s.in.push_back({.shape = source});
    out.push_back(std::move(s));
  };
  push({4, 3}, 0, 5);
  push({3, 4}, 1, 7);
  push({4, 3}, 0, 0);
  push({5}, 0, 3);
  push({2, 3, 4}, 1, 2);
  push({1, 1}, 0, 1);
  push({31, 37}, 0, 129);
  push({40, 1700}, 0, 60);
  return out;
}
std::vector<OpSample> select_samples() { return index_samples(false); }
std::vector<OpSample> add_samples() { return index_samples(true); }
std::vector<OpSample> one_hot_samples() {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{5}, Shape{2, 3}, Shape{}, Shape{0}, Shape{131}})
    for (const DType t : {DType::f32, DType::f64})
      out.push_back({.in = {{.shape = s, .dtype = DType::i64, .high_int = 4}}, .attrs = {std::int64_t{3}, t}});
  return out;
}
std::vector<BadSample> bad_select() {
  return {{.in = {{.shape = {3, 4}}, {.shape = {2}}},
           .attrs = {std::int64_t{0}},
           .expect = "'index' [2] has dtype float32; it must be int64"},
          {.in = {{.shape = {3, 4}}, {.shape = {2}, .dtype = DType::i64}},
           .attrs = {std::int64_t{2}},
           .expect = "axis 2 is outside [0, 2)"},
          {.in = {{.shape = {3, 4}}, {.shape = {2, 1}, .dtype = DType::i64}},
           .attrs = {std::int64_t{0}},
           .expect = "'index' [2, 1] has 2 axes; it must have 1"}};
}
std::vector<BadSample> bad_add() {
  return {{.in = {{.shape = {3, 4}}, {.shape = {2}, .dtype = DType::i64}, {.shape = {3, 4}}},
           .attrs = {std::int64_t{0}},
           .expect = "input 'source' [3, 4] must have the shape [2, 4]"}};
}
std::vector<BadSample> bad_one_hot() {
  return {{.in = {{.shape = {3}, .dtype = DType::i64}},
           .attrs = {std::int64_t{0}, DType::f32},
           .expect = "classes is 0; it must be at least 1"},
          {.in = {{.shape = {3}, .dtype = DType::i64}},
           .attrs = {std::int64_t{2}, DType::i64},
           .expect = "dtype is int64"}};
}
#else
constexpr SamplesFn select_samples = nullptr, add_samples = nullptr, one_hot_samples = nullptr;
constexpr BadSamplesFn bad_select = nullptr, bad_add = nullptr, bad_one_hot = nullptr;
#endif

enum : std::size_t { kSelectOp, kAddOp, kOneHot };
constexpr OpDef kOps[] = {
    {.name = "index_select",
     .doc = "Slices of x along an axis, in the order of index; an index outside the axis is a data error.",
     .inputs = kSelect,
     .attrs = kAxisAttr,
     .infer = infer_select,
     .vjp = select_vjp,
     .saves = Save::inputs,
     .onnx = "Gather",
     .samples = select_samples,
     .bad_samples = bad_select},
    {.name = "index_add",
     .doc = "x plus slices of source at the places of index; several for one place are added in ascending source order "
            "(A7).",
     .inputs = kAdd,
     .attrs = kAxisAttr,
     .infer = infer_add,
     .vjp = add_vjp,
     .saves = Save::inputs,
     .samples = add_samples,
     .bad_samples = bad_add},
    {.name = "one_hot",
     .doc = "1 at the index, 0 elsewhere, along a new last axis; an index outside [0, classes) gives a row of zeros.",
     .inputs = kIndex,
     .attrs = kOneHotAttrs,
     .infer = infer_one_hot,
     .gradient = Gradient::none,
     .onnx = "OneHot",
     .samples = one_hot_samples,
     .bad_samples = bad_one_hot},
};

std::int64_t axis_of(const Tensor& x, std::int64_t axis, std::string_view op) {
  return static_cast<std::int64_t>(normalize_axis(axis, x.rank(), op));
}

}  // namespace

extern constinit const std::span<const OpDef> ops_index = kOps;

Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& index) {
  return apply1(kOps[kSelectOp], {x, index}, {axis_of(x, axis, "index_select")});
}
Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source) {
  return apply1(kOps[kAddOp], {x, index, source}, {axis_of(x, axis, "index_add")});
}
Tensor one_hot(const Tensor& index, std::int64_t classes, DType t) {
  return apply1(kOps[kOneHot], {index}, {classes, t});
}

}  // namespace lockstep
