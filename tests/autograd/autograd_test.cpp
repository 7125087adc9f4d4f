// The reverse walk: order, accumulation, broadcasting, higher orders, refusals, hooks, long chains.
#include <doctest/doctest.h>

#include <cmath>

#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "print.h"

using namespace lockstep;

namespace {

using Doubles = std::vector<double>;

Tensor leaf(std::initializer_list<double> v, const Shape& s) {
  install_builtin_ops();
  return Tensor::of(v, s).requires_grad_();
}
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.category == Category::usage);
    return e.message;
  }
  return "nothing was thrown";
}
/// `message` contains `part`.
void check_has(const std::string& message, std::string_view part) {
  CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

Tensors cube(std::span<const Tensor> in, const void*) { return {mul(in[0], mul(in[0], in[0]))}; }
/// A wrong gradient: the second factor is cut off the graph.
Tensors wrong(std::span<const Tensor> in, const void*) { return {mul(in[0], in[0].detach())}; }
/// x (x + c), where c is x cut off the graph.
Tensors wrong_twice(std::span<const Tensor> in, const void*) { return {mul(in[0], add(in[0], in[0].detach()))}; }

}  // namespace

TEST_CASE("contributions add up, and broadcasts are undone") {
  const Tensor x = leaf({1, 2, 3}, {3}), y = leaf({10, 20}, {2, 1});
  const Tensor in[] = {x, y};
  const Tensors g = gradients(sum(add(mul(x, y), x)), in);
  CHECK(g[0].to_doubles() == Doubles{32, 32, 32});  // sum of y, and once more for each row of the broadcast x
  CHECK(g[1].shape() == Shape{2, 1});
  CHECK(g[1].to_doubles() == Doubles{6, 6});
}

TEST_CASE("higher derivatives through create_graph") {
  const Tensor x = leaf({2}, {});
  Tensor d = mul(x, mul(x, mul(x, x)));
  const double expected[] = {32, 48, 48, 24};
  for (const double e : expected) {
    d = gradients(d, {&x, 1}, {.create_graph = true})[0];
    CHECK(d.item() == e);
  }
  CHECK_FALSE(gradients(mul(x, x), {&x, 1})[0].requires_grad());
}

TEST_CASE("gradients of intermediate tensors and of several outputs") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensors bn = batch_norm(x, {}, {}, 1e-5);
  const Tensor h = exp(x);
  const Tensor in[] = {h, x};
  const Tensors g = gradients(sum(mul(h, h)), in);
  CHECK(g[0].to_doubles()[1] == doctest::Approx(2 * std::exp(2.0)));
  CHECK(g[1].to_doubles()[1] == doctest::Approx(2 * std::exp(4.0)));
  CHECK(gradients(sum(bn[1]), {&x, 1})[0].to_doubles()[0] == doctest::Approx(1.0 / 3));
}

TEST_CASE("a seed replaces the scalar") {
  const Tensor x = leaf({1, 2}, {2});
  CHECK(gradients(mul(x, x), {&x, 1}, {}, Tensor::of<double>({1, 10}, {2}))[0].to_doubles() == Doubles{2, 40});
  check_has(message_of([&] {
              gradients(mul(x, x), {&x, 1}, {}, Tensor::of<double>({1}, {1}));
            }),
            "the seed has shape [1] float64");
}

TEST_CASE("why a gradient does not exist is said") {
  const Tensor x = leaf({1, 2}, {2}), other = leaf({1}, {1}), plain = Tensor::of<double>({1, 2}, {2});
  check_has(message_of([&] { gradients(sum(plain), {&x, 1}); }), "has no history");
  check_has(message_of([&] {
              gradients(sum(x.detach()), {&x, 1});
            }),
            "computed under NoGrad, from detached or integer tensors only");
  check_has(message_of([&] {
              const NoGrad off;
              const Tensor t = sum(x);
              gradients(t, {&x, 1});
            }),
            "has no history");
  check_has(message_of([&] {
              gradients(mul(x, x), {&x, 1});
            }),
            "has shape [2] with 2 elements; it needs one element, or a seed");
  check_has(message_of([&] { gradients(argmax(x, 0), {&x, 1}); }), "has dtype int64");
  check_has(message_of([&] {
              gradients(sum(x), {&plain, 1});
            }),
            "input 0 of shape [2] has no history: it was never marked");
  const Tensor both[] = {x, other};
  check_has(message_of([&] { gradients(sum(x), both); }), "does not depend on input 1 of shape [1]");
  const Tensors g = gradients(sum(x), both, {.allow_unused = true});
  CHECK(g[0].defined());
  CHECK_FALSE(g[1].defined());
  Tensor count = Tensor::of<std::int64_t>({1}, {1});
  check_has(message_of([&] { count.requires_grad_(); }), "only floating tensors have gradients");
  Tensor result = exp(x);
  check_has(message_of([&] { result.requires_grad_(); }), "only leaves take it");
}

TEST_CASE("a derivative of zero is zeros, not an unused input") {
  const Tensor x = leaf({1, -2}, {2});
  CHECK(gradients(sum(sign(x)), {&x, 1})[0].to_doubles() == Doubles{0, 0});
}

TEST_CASE("an overwritten saved tensor is named") {
  Tensor x = leaf({1, 2}, {2});
  const ModuleFrame frame{.parent = nullptr, .path = "body.3", .origin = "configs/x.yaml:14:9"};
  Scope s = scope;
  s.module = &frame;
  Tensor y;
  {
    const Within within(s);
    y = sum(mul(x, x));
  }
  {
    const NoGrad off;
    scale_(x, 2);
  }
  const std::string m = message_of([&] { gradients(y, {&x, 1}); });
  check_has(m, "backward of 'mul' in module 'body.3' (configs/x.yaml:14:9): input 0 of shape [2] was overwritten");
  const Tensor z = sum(add(x, x));  // saves nothing, so a write does not matter
  {
    const NoGrad off;
    scale_(x, 2);
  }
  CHECK(gradients(z, {&x, 1})[0].to_doubles() == Doubles{2, 2});
}

TEST_CASE("a graph is walked once unless it is retained") {
  const Tensor x = leaf({3}, {});
  const Tensor y = mul(x, x);
  CHECK(gradients(y, {&x, 1}, {.retain_graph = true})[0].item() == 6);
  CHECK(gradients(y, {&x, 1})[0].item() == 6);
  check_has(message_of([&] { gradients(y, {&x, 1}); }), "was already walked");
}

TEST_CASE("hooks see the complete gradient and may replace it") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor h = mul_scalar(x, 3);
  Doubles seen;
  const std::uint64_t id = add_hook(h, [&](const Tensor& g) {
    seen = g.to_doubles();
    return mul_scalar(g, 10);
  });
  const Tensor y = sum(add(h, h));
  CHECK(gradients(y, {&x, 1}, {.retain_graph = true})[0].to_doubles() == Doubles{60, 60});
  CHECK(seen == Doubles{2, 2});
  remove_hook(h, id);
  CHECK(gradients(y, {&x, 1})[0].to_doubles() == Doubles{6, 6});
  add_hook(x, [](const Tensor&) { return Tensor::of<double>({7}, {1}); });
  check_has(message_of([&] { gradients(sum(x), {&x, 1}); }), "a gradient hook returned shape [1]");
}

TEST_CASE("a chain of 200000 ops is walked and freed without recursion") {
  const Tensor x = leaf({1}, {});
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = mul_scalar(y, 1);
  CHECK(gradients(y, {&x, 1})[0].item() == 1);
  Tensor z = x;
  for (int i = 0; i < 200000; ++i) z = exp(mul(z, z));  // saved inputs and outputs, dropped unwalked
}

TEST_CASE("the checkers accept right rules and find wrong ones") {
  install_builtin_ops();
  const Tensor x = Tensor::of<double>({0.5, -1.5, 2}, {3});
  CHECK(gradcheck(cube, nullptr, {&x, 1}) == "");
  CHECK(gradgradcheck(cube, nullptr, {&x, 1}) == "");
  check_has(gradcheck(wrong, nullptr, {&x, 1}), "input 0 element 0: the gradient is");
  check_has(gradgradcheck(wrong_twice, nullptr, {&x, 1}), "central differences give");
}

TEST_CASE("anomaly detection names op, module and element, in the backward too") {
  const Tensor x = leaf({1, 0}, {2});
  const ModuleFrame frame{.parent = nullptr, .path = "head", .origin = {}};
  Scope s = scope;
  s.detect_anomaly = true;
  s.module = &frame;
  const Within within(s);
  const auto numeric = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      CHECK(e.category == Category::numeric);
      return e.message;
    }
    return std::string("nothing was thrown");
  };
  check_has(numeric([&] { log(x); }),
            "log: output 0 of shape [2] has 1 non-finite values of 2; the first is -inf at element 1; module 'head'");
  const Tensor y = sum(sqrt(x));
  check_has(numeric([&] { gradients(y, {&x, 1}); }), "div: output 0 of shape [2]");
}
