// Arithmetic kernels: equal bytes on every instruction set, and the rules for zeros and NaN.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace lockstep::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Held held(std::initializer_list<float> values) {
  Held out(Shape{static_cast<std::int64_t>(values.size())}, DType::f32);
  std::ranges::copy(values, out.as<float>());
  return out;
}
std::vector<float> run(std::string_view op, std::vector<Held> in, const Attrs& attrs = {}) {
  std::vector<Held> out = {Held(in[0].array.shape, DType::f32)};
  run_kernel(op, DType::f32, in, out, attrs);
  return {out[0].as<float>(), out[0].as<float>() + out[0].array.numel()};
}
/// Equal, with equal signs of zero; NaN equals NaN.
void check_same(const std::vector<float>& got, const std::vector<float>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const bool same = std::isnan(got[i]) ? std::isnan(expected[i])
                                         : got[i] == expected[i] && std::signbit(got[i]) == std::signbit(expected[i]);
    CHECK_MESSAGE(same, got[i] << " against " << expected[i]);
  }
}

TEST_CASE("arithmetic gives equal bytes on every instruction set") {
  for (const DType type : kFloats) {
    for (const std::string_view op : {"add", "sub", "mul", "div", "maximum", "minimum"}) check_elementwise(op, type, 2, type);
    for (const std::string_view op : {"neg", "abs", "sign", "sqrt"}) check_elementwise(op, type, 1, type);
    for (const std::string_view op : {"add_scalar", "mul_scalar"}) check_elementwise(op, type, 1, type, {0.1});
  }
}

TEST_CASE("maximum and minimum: NaN wins, zeros are ordered by sign") {
  const Held a = held({1, 2, 0.0F, -0.0F, kNan, 1, -kInf, -1});
  const Held b = held({2, 1, -0.0F, 0.0F, 1, kNan, kInf, -2});
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    check_same(run("maximum", {a, b}), {2, 2, 0.0F, 0.0F, kNan, kNan, kInf, -1});
    check_same(run("minimum", {a, b}), {1, 1, -0.0F, -0.0F, kNan, kNan, -kInf, -2});
  }
  use_isa(best_isa());
}

TEST_CASE("sign, neg, abs and sqrt at the edges") {
  const Held x = held({0.0F, -0.0F, kNan, kInf, -kInf, -3, 4});
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    check_same(run("sign", {x}), {0.0F, -0.0F, kNan, 1, -1, -1, 1});
    check_same(run("neg", {x}), {-0.0F, 0.0F, kNan, -kInf, kInf, 3, -4});
    check_same(run("abs", {x}), {0.0F, 0.0F, kNan, kInf, kInf, 3, 4});
    check_same(run("sqrt", {x}), {0.0F, -0.0F, kNan, kInf, kNan, kNan, 2});
  }
  use_isa(best_isa());
}

TEST_CASE("a scalar is rounded once to the tensor's dtype") {
  check_same(run("mul_scalar", {held({1, 3})}, {0.1}), {0.1F, 3 * 0.1F});
  check_same(run("add_scalar", {held({1, 3})}, {1e-9}), {1, 3});
}

TEST_CASE("an output may be its own input") {
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    std::vector<Held> in = {held({1, 2, 3, 4, 5, 6, 7, 8, 9}), held({1, 1, 1, 1, 1, 1, 1, 1, 1})};
    OpDef def{};
    def.name = "add";
    const Array from[] = {in[0].array, in[1].array};
    kernel_of("add", DType::f32).fn({.op = def, .in = from, .out = {from, 1}, .attrs = {}});
    CHECK(in[0].as<float>()[0] == 2);
    CHECK(in[0].as<float>()[8] == 10);
  }
  use_isa(best_isa());
}

}  // namespace
}  // namespace lockstep::test
