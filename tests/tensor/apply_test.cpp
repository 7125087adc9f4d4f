// apply(): every step once, with toy ops.
#include <doctest/doctest.h>

#include <limits>

#include "lockstep/base/error.h"
#include "lockstep/tensor/grad_node.h"
#include "lockstep/tensor/storage.h"
#include "print.h"
#include "toy_ops.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

using Doubles = std::vector<double>;

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "nothing was thrown";
}
/// `message` contains `part`.
void check_has(const std::string& message, std::string_view part) {
  CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

Tensor two_by_three() { return Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}); }

struct Counter final : Profiler {
  std::vector<std::string> seen;
  void before(const OpDef& op, std::span<const Tensor>) override { seen.push_back("+" + std::string(op.name)); }
  void after(const OpDef& op, std::span<const Tensor>) override { seen.push_back("-" + std::string(op.name)); }
};
struct Recorder final : Tracer {
  std::vector<std::string> seen;
  void record(const OpDef& op, std::span<const Tensor>, const Attrs&, std::span<const Tensor> out) override {
    seen.push_back(std::string(op.name) + text(out[0].shape()));
  }
};

}  // namespace

TEST_CASE("elementwise inputs reach the kernel expanded, without tensors in between") {
  install_toys();
  const std::uint64_t before = memory_stats().allocations;
  const Tensor y = apply1(toy("plus"), {two_by_three(), Tensor::of<float>({10, 20, 30}, {3}), {}});
  CHECK(y.to_doubles() == Doubles{11, 22, 33, 14, 25, 36});
  CHECK(plus_strides[0] == 0);
  CHECK(plus_strides[1] == 1);
  CHECK(memory_stats().allocations - before == 3);
  check_has(message_of([&] {
              apply1(toy("plus"), {y, Tensor::zeros({2}), {}});
            }),
            "plus: shapes [2, 3] and [2] do not broadcast: axis 1 (from the right) has 3 and 2");
}

TEST_CASE("wrong calls are told apart") {
  install_toys();
  const Tensor x = two_by_three();
  check_has(message_of([&] { apply1(toy("plus"), {x}); }), "plus: got 1 inputs, takes 3: a, b (missing), c?");
  check_has(message_of([&] { apply1(toy("store"), {x}); }),
            "store: 0 attributes were given; it takes 1 of fixed types: value");
  check_has(message_of([&] {
              apply(toy("store"), {&x, 1}, {std::int64_t{1}});
            }),
            "store: 1 attributes were given; it takes 1 of fixed types");
  const Tensor d = Tensor::zeros({2}, DType::f64);
  check_has(message_of([&] {
              apply1(toy("plus"), {d, d, {}});
            }),
            "plus: no kernel for dtype float64 on cpu; kernels there take float32");
  static constexpr OpDef stranger{
      .name = "stranger", .doc = "x.", .inputs = {}, .infer = [](const OpIn&) { return std::vector<Meta>{}; }};
  check_has(message_of([&] { apply(stranger, {}, {}); }), "op 'stranger' is not installed");
}

TEST_CASE("installing checks the tables") {
  static constexpr OpDef lonely[] = {
      {.name = "lonely", .doc = "x.", .inputs = {}, .infer = [](const OpIn&) { return std::vector<Meta>{}; }}};
  static constexpr DType f32[] = {DType::f32};
  static constexpr KernelDef one[] = {{.op = "lonely", .dtypes = f32, .fn = [](const KernelCall&) {}}};
  static constexpr KernelDef lost[] = {{.op = "lost", .dtypes = f32, .fn = [](const KernelCall&) {}}};
  const std::span<const OpDef> ops[] = {lonely}, twice[] = {lonely, lonely};
  const std::span<const KernelDef> good[] = {one}, doubled[] = {one, one}, unknown[] = {one, lost};
  check_has(message_of([&] { install_ops(ops, {}); }), "op 'lonely' has neither a kernel nor a reference composition");
  check_has(message_of([&] { install_ops(ops, doubled); }), "two kernels for op 'lonely', cpu, float32");
  check_has(message_of([&] { install_ops(ops, unknown); }), "a kernel names op 'lost', which no op file defines");
  check_has(message_of([&] { install_ops(twice, good); }), "two ops are named 'lonely'");
  static constexpr OpDef shapeless[] = {{.name = "lonely", .doc = "x.", .inputs = {}}};
  static constexpr std::array<std::string_view, 40> many{};
  static constexpr OpDef wide[] = {
      {.name = "lonely", .doc = "x.", .inputs = many, .infer = [](const OpIn&) { return std::vector<Meta>{}; }}};
  static constexpr KernelDef empty[] = {{.op = "lonely", .dtypes = f32}};
  const std::span<const OpDef> no_infer[] = {shapeless}, too_wide[] = {wide};
  const std::span<const KernelDef> no_function[] = {empty};
  check_has(message_of([&] { install_ops(no_infer, good); }), "op 'lonely' has no infer function");
  check_has(message_of([&] { install_ops(too_wide, good); }), "op 'lonely' has 40 inputs and 0 attributes");
  check_has(message_of([&] { install_ops(ops, no_function); }), "the kernel of op 'lonely' has no function");
}

TEST_CASE("ops that the engine itself calls must be installed") {
  static constexpr std::string_view x[] = {"x"};
  static constexpr DType f32[] = {DType::f32};
  static constexpr auto same = [](const OpIn& c) { return std::vector<Meta>{{c.in[0].shape, c.in[0].dtype, {}}}; };
  static constexpr OpDef few[] = {
      {.name = "lonely", .doc = "x.", .inputs = x, .infer = same, .gradient = Gradient::none, .dense = true},
      {.name = "low", .doc = "x.", .inputs = x, .infer = same, .gradient = Gradient::none, .autocast = Autocast::low}};
  static constexpr KernelDef kernels[] = {{.op = "lonely", .dtypes = f32, .fn = [](const KernelCall&) {}},
                                          {.op = "low", .dtypes = f32, .fn = [](const KernelCall&) {}}};
  const std::span<const OpDef> ops[] = {few};
  const std::span<const KernelDef> tables[] = {kernels};
  install_toys();
  const Tensor plain = two_by_three();
  check_has(message_of([&] { apply1(toy("store"), {plain}, {1.0}); }), "store: apply1 expects one output, the op has 0");
  install_ops(ops, tables);
  Strides every_second{};
  every_second[0] = 2;
  check_has(message_of([&] { apply1(*find_op("lonely"), {Tensor::view_of(plain, {3}, every_second, 0)}); }),
            "a dense op needs the op 'contiguous', which is not installed");
  Scope s = scope;
  s.compute = DType::bf16;
  {
    const Within within(s);
    check_has(message_of([&] { apply1(*find_op("low"), {plain}); }), "autocast needs the op 'cast', which is not installed");
  }
  install_toys();
}

TEST_CASE("views share storage and version; writes are refused where something remembers") {
  install_toys();
  Tensor x = two_by_three();
  const Tensor row = apply1(toy("row"), {x});
  CHECK(row.same_storage(x));
  const std::uint64_t before = x.version();
  apply(toy("store"), {&row, 1}, {9.0});
  CHECK(x.to_doubles() == Doubles{9, 9, 9, 4, 5, 6});
  CHECK(x.version() == before + 1);
  const Tensor wide = Tensor::view_of(x, {4, 3}, {0, 1}, 0);
  check_has(message_of([&] {
              apply(toy("store"), {&wide, 1}, {1.0});
            }),
            "store: writes its input 'x' of shape [4, 3], whose axis 0 is expanded");
  x.requires_grad_();
  check_has(message_of([&] { apply(toy("store"), {&x, 1}, {1.0}); }), "requires a gradient that is being recorded");
  const Tensor y = apply1(toy("plus"), {x, x, {}});
  const NoGrad off;
  apply(toy("store"), {&x, 1}, {1.0});  // an optimizer may
  check_has(message_of([&] { apply(toy("store"), {&y, 1}, {1.0}); }), "is a result of op 'plus' with history");
}

TEST_CASE("history is recorded when asked for, and not otherwise") {
  install_toys();
  Tensor x = two_by_three();
  x.requires_grad_();
  const ModuleFrame frame{.parent = nullptr, .path = "body.0", .origin = "c.yaml:3:1"};
  Scope s = scope;
  s.module = &frame;
  const Within within(s);
  const Tensor y = apply1(toy("plus"), {x, two_by_three(), {}});
  REQUIRE(y.requires_grad());
  CHECK(y.node()->op == &toy("plus"));
  CHECK(y.node()->module_path == "body.0");
  CHECK(y.node()->module_origin == "c.yaml:3:1");
  CHECK(y.node()->edges[0].node == x.node());
  CHECK(y.node()->edges[1].node == nullptr);
  CHECK(y.node()->in.empty());  // saves nothing
  CHECK(y.node()->number > x.node()->number);
  CHECK_FALSE(y.detach().requires_grad());
  CHECK(apply1(toy("double"), {x}).node()->op == &toy("plus"));  // a composite records its parts
  const NoGrad off;
  CHECK_FALSE(apply1(toy("plus"), {x, x, {}}).requires_grad());
}

TEST_CASE("metas run shapes only") {
  install_toys();
  const Tensor m = Tensor::empty({2, 3}, DType::f32, Device::meta);
  const int before = plus_calls;
  const Tensor y = apply1(toy("plus"), {m, Tensor::zeros({3}), {}}), z = apply1(toy("double"), {m}),
               row = apply1(toy("row"), {m});
  CHECK(plus_calls == before);
  CHECK(y.device() == Device::meta);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(z.shape() == Shape{2, 3});
  CHECK(row.shape() == Shape{3});
  check_has(message_of([&] { static_cast<void>(y.to_doubles()); }), "on the meta device has no data");
}

TEST_CASE("dense ops get contiguous inputs and aligned workspace") {
  install_toys();
  const Tensor t = Tensor::view_of(two_by_three(), {3, 2}, {1, 3}, 0);
  CHECK(apply1(toy("dense"), {t}).to_doubles() == Doubles{1, 4, 2, 5, 3, 6});
}

TEST_CASE("autocast changes dtypes by the op's policy") {
  install_toys();
  const Tensor x = two_by_three();
  CHECK(apply1(toy("low"), {x}).dtype() == DType::f32);
  Scope s = scope;
  s.compute = DType::bf16;
  {
    const Within within(s);
    CHECK(apply1(toy("wide"), {x}).dtype() == DType::f32);
    CHECK(apply1(toy("plus"), {x, x, {}}).dtype() == DType::f32);
    check_has(message_of([&] { apply1(toy("low"), {x}); }), "low: no kernel for dtype bfloat16 on cpu");
  }
  s.compute = DType::f64;
  const Within within(s);
  check_has(message_of([&] { apply1(toy("low"), {x}); }), "the compute dtype must be float32, bfloat16 or float16");
}

TEST_CASE("profilers see parts, tracers see the op as it was called") {
  install_toys();
  Counter profiler;
  Recorder tracer;
  Scope s = scope;
  s.profiler = &profiler;
  s.tracer = &tracer;
  const Within within(s);
  apply1(toy("double"), {two_by_three()});
  CHECK(profiler.seen == std::vector<std::string>{"+double", "+plus", "-plus", "-double"});
  CHECK(tracer.seen == std::vector<std::string>{"double[2, 3]"});
}

TEST_CASE("anomaly detection") {
  install_toys();
  Scope s = scope;
  s.detect_anomaly = true;
  const Within within(s);
  const float inf = std::numeric_limits<float>::infinity();
  check_has(message_of([&] {
              apply1(toy("double"), {Tensor::of<float>({1, inf, inf}, {3})});
            }),
            "plus: output 0 of shape [3] has 2 non-finite values of 3; the first is inf at element 1");
}

TEST_CASE("keys are a function of the module, the frame and the draw") {
  check_has(message_of([] { static_cast<void>(next_key()); }), "a random draw outside a module's forward");
  std::uint32_t draws = 0;
  const ModuleFrame frame{.parent = nullptr, .path = "drop", .origin = {}, .key = 77, .draws = &draws};
  Scope s = scope;
  s.module = &frame;
  s.rng = {.seed = 1, .step = 5, .phase = 2, .shard = 3};
  const Within within(s);
  CHECK(next_key() == RngKey{77, 5, 3, 2U << 24});
  CHECK(next_key() == RngKey{77, 5, 3, (2U << 24) | 1U});
  draws = 1U << 24;
  check_has(message_of([] { static_cast<void>(next_key()); }), "at most 2^24 draws");
}
