// What the op functions promise beyond the contract tests: views and copies, special values, keyed masks, data errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "lockstep/base/error.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "print.h"

using namespace lockstep;

namespace {

using Doubles = std::vector<double>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(std::initializer_list<float> v) { return Tensor::of(v, {static_cast<std::int64_t>(v.size())}); }
bool negative_zero(double v) { return v == 0 && std::signbit(v); }

template <class F>
std::string message_of(Category category, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.category == category);
    return e.message;
  }
  return "nothing was thrown";
}
/// `message` contains `part`.
void check_has(const std::string& message, std::string_view part) {
  CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

}  // namespace

TEST_CASE("reshape looks where the layout allows it and copies where not") {
  install_builtin_ops();
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  CHECK(reshape(x, {3, -1}).same_storage(x));
  const Tensor t = transpose(x);
  CHECK(reshape(t, {3, 1, 2}).same_storage(x));
  const Tensor copied = reshape(t, {6});
  CHECK_FALSE(copied.same_storage(x));
  CHECK(copied.to_doubles() == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(flatten(Tensor::zeros({2, 3, 4})).shape() == Shape{2, 12});
  CHECK(flatten(Tensor::zeros({2, 3, 4}), 0, 1).shape() == Shape{6, 4});
  CHECK(flatten(Tensor::zeros({})).shape() == Shape{1});
  check_has(message_of(Category::usage, [&] { flatten(x, 1, 0); }), "flatten: start axis 1 lies behind end axis 0");
  CHECK(contiguous(x).id() == x.id());
  CHECK(cast(x, DType::f32).id() == x.id());
}

TEST_CASE("copy_ between overlapping views") {
  install_builtin_ops();
  const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4}, {5});
  copy_(narrow(x, 0, 1, 4), narrow(x, 0, 0, 4));
  CHECK(x.to_doubles() == Doubles{0, 0, 1, 2, 3});
}

TEST_CASE("NaN, zeros and infinities (A10)") {
  install_builtin_ops();
  const Tensor a = floats({kNan, 1, 0.0F, -0.0F}), b = floats({1, kNan, -0.0F, 0.0F});
  const Doubles high = maximum(a, b).to_doubles(), low = minimum(a, b).to_doubles();
  CHECK((std::isnan(high[0]) && std::isnan(high[1]) && std::isnan(low[0]) && std::isnan(low[1])));
  CHECK((!negative_zero(high[2]) && !negative_zero(high[3]) && negative_zero(low[2]) && negative_zero(low[3])));
  const Doubles r = relu(floats({kNan, -1, -0.0F, 2})).to_doubles();
  CHECK(std::isnan(r[0]));
  CHECK((r[1] == 0 && !negative_zero(r[2]) && r[3] == 2));
  CHECK(negative_zero(sign(floats({-0.0F})).to_doubles()[0]));
  CHECK(cast(floats({kNan, 1e30F, -1e30F, 2.9F, -2.9F}), DType::i32).to_doubles() ==
        Doubles{0, 2147483647.0, -2147483648.0, 2, -2});
  CHECK(cast(floats({kNan, 0, -0.0F, kInf}), DType::boolean).to_doubles() == Doubles{1, 0, 0, 1});
  CHECK(argmax(floats({1, kNan, 3, kNan}), 0).item() == 1);
  CHECK(argmax(floats({1, 3, 3}), 0).item() == 1);
  CHECK(std::isnan(amax(floats({1, kNan, 3})).item()));
  CHECK(sum(Tensor::zeros({0, 3}), {0}).to_doubles() == Doubles{0, 0, 0});
  CHECK(std::isnan(mean(Tensor::zeros({0})).item()));
}

TEST_CASE("cross entropy of ignored and invalid targets") {
  install_builtin_ops();
  const Tensor logits = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const Doubles v = cross_entropy(logits, Tensor::of<std::int64_t>({-100, 1, 7}, {3}), {}, 0, -100).to_doubles();
  CHECK((v[0] == 0 && !negative_zero(v[0])));
  CHECK(v[1] == doctest::Approx(1.4076059));
  CHECK(std::isnan(v[2]));
}

TEST_CASE("dropout draws by key, and only in training") {
  install_builtin_ops();
  const Tensor x = Tensor::full({100, 100}, 1);
  CHECK(dropout(x, 0.5).id() == x.id());
  std::uint32_t draws = 0;
  const ModuleFrame frame{.parent = nullptr, .path = "drop", .origin = {}, .key = 99, .draws = &draws};
  Scope s = scope;
  s.training = true;
  s.module = &frame;
  const Within within(s);
  CHECK(dropout(x, 0).id() == x.id());
  const Tensor a = dropout(x, 0.25), b = dropout(x, 0.25);
  CHECK(draws == 2);
  draws = 0;
  CHECK(dropout(x, 0.25).to_doubles() == a.to_doubles());
  CHECK(a.to_doubles() != b.to_doubles());
  CHECK(sum(a).item() == doctest::Approx(10000).epsilon(0.03));
  CHECK(amax(a).item() == static_cast<double>(static_cast<float>(1 / 0.75)));
}

TEST_CASE("an index outside the axis is a data error, and nothing is read") {
  install_builtin_ops();
  const Tensor x = Tensor::zeros({3, 2});
  for (const std::int64_t bad : {-1, 3}) {
    const Tensor index = Tensor::of<std::int64_t>({0, bad}, {2});
    CHECK(message_of(Category::data, [&] { index_select(x, 0, index); }) != "nothing was thrown");
    CHECK(message_of(Category::data, [&] { index_add(x, 0, index, Tensor::zeros({2, 2})); }) != "nothing was thrown");
  }
}

TEST_CASE("fingerprints depend on every element and on the position, not on the layout") {
  install_builtin_ops();
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Doubles at_0 = nh128(x, 0).to_doubles();
  CHECK(nh128(contiguous(transpose(x)), 0).to_doubles() == nh128(transpose(x), 0).to_doubles());
  CHECK(nh128(x, 6).to_doubles() != at_0);
  CHECK(nh128(add(x, floats({0, 0, 1e-6F})), 0).to_doubles() != at_0);
}
