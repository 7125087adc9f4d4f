// The toy ops: definitions and kernels.
#include "toy_ops.h"

#include <bit>

#include "lockstep/base/error.h"
#include "lockstep/tensor/infer.h"

namespace lockstep::test {

int plus_calls = 0;
Strides plus_strides{};

namespace {

constexpr std::string_view kX[] = {"x"};
constexpr std::string_view kABC[] = {"a", "b", "c?"};
constexpr AttrDef kValue[] = {{"value", "What is stored.", 0.0}};
constexpr AttrDef kTo[] = {{"to", "The dtype.", DType::f32}};

std::vector<Meta> infer_plus(const OpIn& c) {
  need_same_dtype(c, 0, 1);
  return result(broadcast(c.in[0].shape, c.in[1].shape, c.op.name), c.in[0].dtype);
}
std::vector<Meta> infer_same(const OpIn& c) { return result(c.in[0].shape, c.in[0].dtype); }
std::vector<Meta> infer_store(const OpIn&) { return {}; }
std::vector<Meta> infer_cast(const OpIn& c) { return result(c.in[0].shape, c.attrs.get<DType>(0)); }
std::vector<Meta> infer_row(const OpIn& c) {
  need_rank(c, 0, 2);
  Strides s{};
  s[0] = c.tensors[0].strides()[1];
  return {Meta{{c.in[0].shape[1]}, c.in[0].dtype, View{0, s, c.tensors[0].offset()}}};
}

Tensors plus_vjp(const Vjp& c) { return {c.grad[0], c.grad[0], Tensor()}; }
Tensors double_reference(std::span<const Tensor> in, const Attrs&) { return {apply1(toy("plus"), {in[0], in[0]})}; }
Tensors none_vjp(const Vjp&) { return {Tensor()}; }

std::int64_t at(const Array& a, std::int64_t i) {  // element i, row-major
  std::int64_t where = 0;
  for (std::size_t k = a.shape.rank(); k-- > 0;) {
    where += i % a.shape[k] * a.strides[k];
    i /= a.shape[k];
  }
  return where;
}
void plus(const KernelCall& c) {
  ++plus_calls;
  plus_strides = c.in[1].strides;
  for (std::int64_t i = 0; i < c.out[0].numel(); ++i)
    c.out[0].as<float>()[i] = c.in[0].as<float>()[at(c.in[0], i)] + c.in[1].as<float>()[at(c.in[1], i)];
}
void copy(const KernelCall& c) {
  for (std::int64_t i = 0; i < c.out[0].numel(); ++i) c.out[0].as<float>()[i] = c.in[0].as<float>()[at(c.in[0], i)];
}
std::size_t workspace(const KernelCall& c) {
  if (c.in[0].data != nullptr) fail(Category::internal, "workspace() saw data");
  return 100;
}
void dense(const KernelCall& c) {
  if (!c.in[0].contiguous() || c.workspace == nullptr || reinterpret_cast<std::uintptr_t>(c.workspace) % 64 != 0)
    fail(Category::internal, "a dense op got strided input or no workspace");
  copy(c);
}
void store(const KernelCall& c) {
  for (std::int64_t i = 0; i < c.in[0].numel(); ++i)
    c.in[0].as<float>()[at(c.in[0], i)] = static_cast<float>(c.attrs.get<double>(0));
}
void to_bf16(const KernelCall& c) {  // only what the test needs: truncation
  for (std::int64_t i = 0; i < c.out[0].numel(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(c.in[0].as<float>()[at(c.in[0], i)]);
    c.out[0].as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits >> 16);
  }
}

constexpr OpDef kOps[] = {
    {.name = "plus", .doc = "a + b.", .inputs = kABC, .infer = infer_plus, .vjp = plus_vjp, .elementwise = true},
    {.name = "double", .doc = "x + x.", .inputs = kX, .infer = infer_same, .reference = double_reference},
    {.name = "row", .doc = "First row.", .inputs = kX, .infer = infer_row, .vjp = none_vjp, .view = true},
    {.name = "store",
     .doc = "x = value.",
     .inputs = kX,
     .attrs = kValue,
     .infer = infer_store,
     .gradient = Gradient::none,
     .mutates = 1},
    {.name = "low",
     .doc = "A copy, in the low dtype.",
     .inputs = kX,
     .infer = infer_same,
     .vjp = none_vjp,
     .autocast = Autocast::low},
    {.name = "wide",
     .doc = "A copy, in float32.",
     .inputs = kX,
     .infer = infer_same,
     .vjp = none_vjp,
     .autocast = Autocast::full},
    {.name = "cast",
     .doc = "Another dtype.",
     .inputs = kX,
     .attrs = kTo,
     .infer = infer_cast,
     .gradient = Gradient::none},
    {.name = "contiguous", .doc = "A copy.", .inputs = kX, .infer = infer_same, .vjp = none_vjp},
    {.name = "dense",
     .doc = "A copy of contiguous input.",
     .inputs = kX,
     .infer = infer_same,
     .vjp = none_vjp,
     .dense = true},
};
constexpr DType kF32[] = {DType::f32};
constexpr KernelDef kKernels[] = {
    {.op = "plus", .dtypes = kF32, .fn = plus},
    {.op = "store", .dtypes = kF32, .fn = store},
    {.op = "low", .dtypes = kF32, .fn = copy},
    {.op = "wide", .dtypes = kF32, .fn = copy},
    {.op = "cast", .dtypes = kF32, .fn = to_bf16},
    {.op = "contiguous", .dtypes = kF32, .fn = copy},
    {.op = "dense", .dtypes = kF32, .workspace = workspace, .fn = dense},
};

}  // namespace

void install_toys() {
  const std::span<const OpDef> ops[] = {kOps};
  const std::span<const KernelDef> kernels[] = {kKernels};
  install_ops(ops, kernels);
}
const OpDef& toy(std::string_view name) { return *find_op(name); }

}  // namespace lockstep::test
