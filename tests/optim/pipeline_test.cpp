// OptimPipeline: order, slots, state; clipping.
#include <doctest/doctest.h>

#include <cmath>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/optim/pipeline.h"
#include "lockstep/state/save_load.h"
#include "print.h"

using namespace lockstep;
using test::chosen;

namespace {

std::vector<NamedTensor> two_parameters() {
  test::registry();
  std::vector<NamedTensor> p(2);
  p[0] = {"b", Tensor::of<float>({1, 2}, {2}).requires_grad_(), StateKind::parameter};
  p[1] = {"a", Tensor::of<float>({3}, {1}).requires_grad_(), StateKind::parameter};
  return p;
}
Tensors two_grads() { return {Tensor::of<float>({0.5F}, {1}), Tensor::of<float>({1, -1}, {2})}; }

}  // namespace

TEST_CASE("parameters are in name order, whatever order they came in") {
  const OptimPipeline o(chosen<OptimizerDef>("sgd"), two_parameters(), {});
  REQUIRE(o.parameters().size() == 2);
  CHECK(o.parameters()[0].to_doubles() == std::vector<double>{3});
  CHECK(o.parameters()[1].to_doubles() == std::vector<double>{1, 2});
}

TEST_CASE("an update writes the parameters in place and counts") {
  OptimPipeline o(chosen<OptimizerDef>("{name: sgd, lr: 0.5}"), two_parameters(), {});
  o.update(two_grads(), 0);
  CHECK(o.parameters()[0].to_doubles() == std::vector<double>{2.75});
  CHECK(o.parameters()[1].to_doubles() == std::vector<double>{0.5, 2.5});
  CHECK(o.updates() == 1);
}

TEST_CASE("momentum starts with the gradient itself") {
  OptimPipeline o(chosen<OptimizerDef>("{name: sgd, lr: 1, momentum: 0.5, dampening: 0.5}"), two_parameters(), {});
  o.update(two_grads(), 0);
  CHECK(o.parameters()[0].to_doubles() == std::vector<double>{2.5});
  o.update(two_grads(), 1);                             // buffer = 0.5 * 0.5 + 0.5 * 0.5
  CHECK(o.parameters()[0].to_doubles() == std::vector<double>{2.0});
}

TEST_CASE("slots are named after parameter and slot, and a reloaded pipeline goes on with equal bits") {
  const auto ref = chosen<OptimizerDef>("{name: adamw, lr: 0.1}");
  OptimPipeline a(ref, two_parameters(), {});
  a.update(two_grads(), 0);
  StateCollector names;
  a.state(names);
  REQUIRE(names.slots.size() == 4);
  CHECK(names.slots[0].name == "a.exp_avg");
  CHECK(names.slots[3].name == "b.exp_avg_sq");
  Checkpoint saved;
  StateSaver saver(saved);
  a.state(saver);

  OptimPipeline b(ref, two_parameters(), {});
  b.update(two_grads(), 0);                             // so that the parameters agree; state comes from the checkpoint
  b.update(two_grads(), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    Tensor to = b.parameters()[i].detach();
    const auto from = a.parameters()[i].to_doubles();
    for (std::size_t e = 0; e < from.size(); ++e) to.values<float>()[e] = static_cast<float>(from[e]);
  }
  StateLoader loader(saved, "memory");
  b.state(loader);
  loader.finish();
  CHECK(b.updates() == 1);
  a.update(two_grads(), 1);
  b.update(two_grads(), 1);
  for (std::size_t i = 0; i < 2; ++i) CHECK(a.parameters()[i].to_doubles() == b.parameters()[i].to_doubles());
}

TEST_CASE("lr follows the schedule") {
  const OptimPipeline o(chosen<OptimizerDef>("{name: sgd, lr: 0.2, schedule: {name: linear, warmup_steps: 2}}"), two_parameters(),
                        {.total_steps = 12, .steps_per_epoch = 4});
  CHECK(o.lr(0) == 0.1);
  CHECK(o.lr(1) == 0.2);
  CHECK(o.lr(7) == 0.1);
}

TEST_CASE("settings without effect are refused") {
  CHECK_THROWS_AS((void)chosen<OptimizerDef>("{name: sgd, nesterov: true}"), Error);
  CHECK_THROWS_AS((void)chosen<OptimizerDef>("{name: sgd, dampening: 0.1}"), Error);
  CHECK_THROWS_AS((void)chosen<OptimizerDef>("{name: sgd, lr: 0}"), Error);
  CHECK_THROWS_AS((void)chosen<OptimizerDef>("{name: adamw, betas: [0.9]}"), Error);
}

TEST_CASE("gradients must be one for each parameter, of its shape") {
  OptimPipeline o(chosen<OptimizerDef>("sgd"), two_parameters(), {});
  const Tensors one = {Tensor::zeros({1})}, wrong = {Tensor::zeros({1}), Tensor::zeros({3})};
  CHECK_THROWS_WITH_AS(o.update(one, 0), "the optimizer has 2 parameters and was given 1 gradients; it takes one each, in their order", Error);
  CHECK_THROWS_WITH_AS(o.update(wrong, 0), "parameter 'b' is float32 [2] and its gradient float32 [3]; they must agree", Error);
}

TEST_CASE("a model without parameters cannot be trained") {
  CHECK_THROWS_AS(OptimPipeline(chosen<OptimizerDef>("sgd"), {}, {}), Error);
}

TEST_CASE("clip_grad_norm measures in f64 and scales only norms above the limit") {
  test::registry();
  const Tensors g = {Tensor::of<float>({3}, {1}), Tensor::of<float>({0, 4}, {2})};
  CHECK(clip_grad_norm(g, std::nullopt) == 5);
  CHECK(clip_grad_norm(g, 10.0) == 5);
  CHECK(g[0].to_doubles() == std::vector<double>{3});
  CHECK(clip_grad_norm(g, 1.0) == 5);
  const float factor = static_cast<float>(1.0 / (5 + 1e-6));
  CHECK(g[0].to_doubles() == std::vector<double>{static_cast<double>(3 * factor)});
  CHECK(g[1].to_doubles() == std::vector<double>{0, static_cast<double>(4 * factor)});
}

TEST_CASE("a norm beyond the range of f32 is measured, not infinite") {
  test::registry();
  const Tensors g = {Tensor::of<float>({1e30F, 1e30F}, {2})};
  CHECK(clip_grad_norm(g, std::nullopt) == doctest::Approx(std::sqrt(2.0) * 1e30).epsilon(1e-6));
}
