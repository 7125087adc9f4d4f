// Module: names, frames, hooks, random draws, state.
#include <doctest/doctest.h>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/nn/layers.h"
#include "lockstep/state/save_load.h"
#include "print.h"

using namespace lockstep;
using test::item;

namespace {

/// Calls its child twice, so that one module draws twice in a forward.
class Twice final : public Module {
 public:
  explicit Twice(const BuildContext& b) : Module(b), inner_(DropoutConfig{0.5}, b.at("inner", b.in)) { adopt(inner_); }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override {
    const Tensor x = in[0];
    return {inner_(x), inner_(x)};
  }

 private:
  Dropout inner_;
};

BuildContext context(std::span<const Meta> in, std::string path = "") {
  test::registry();
  return {.in = in, .path = std::move(path), .seed = 7};
}

Scope training(std::uint32_t step, std::uint32_t shard = 0) {
  Scope s;
  s.training = true;
  s.rng = {.seed = 7, .step = step, .phase = 0, .shard = shard};
  return s;
}

}  // namespace

TEST_CASE("parameters are leaves under canonical names") {
  const Meta in[] = {{{2, 3}, DType::f32, {}}};
  const Linear m({4, true}, context(in, "body.0"));
  const auto all = m.state_tensors();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "body.0.weight");
  CHECK(all[0].tensor.shape() == Shape{4, 3});
  CHECK(all[0].tensor.requires_grad());
  CHECK(all[1].name == "body.0.bias");
  CHECK(all[1].tensor.shape() == Shape{4});
  const Tensor y = m(Tensor::zeros({5, 3}));
  CHECK(y.to_doubles()[3] == all[1].tensor.to_doubles()[3]);
  CHECK(y.node() != nullptr);
}

TEST_CASE("on the meta device a model has shapes and no values") {
  const Meta in[] = {{{2, 3}, DType::f32, {}}};
  BuildContext b = context(in);
  b.device = Device::meta;
  const Linear m({1000000, true}, b);
  CHECK(m.state_tensors()[0].tensor.device() == Device::meta);
  CHECK(dry_run(m, in).at(0).shape == Shape{2, 1000000});
}

TEST_CASE("a module called twice in a forward draws twice; every forward draws the same") {
  const Meta in[] = {{{1, 64}, DType::f32, {}}};
  const Twice m(context(in));
  const Tensor x = Tensor::full({1, 64}, 1);
  const auto run = [&](std::uint32_t step, std::uint32_t shard) {
    const Within within(training(step, shard));
    const Tensors y = m(std::span<const Tensor>(&x, 1));
    return std::pair(y[0].to_doubles(), y[1].to_doubles());
  };
  const auto a = run(3, 0);
  CHECK(a.first != a.second);
  CHECK(run(3, 0) == a);
  CHECK(run(4, 0).first != a.first);
  CHECK(run(3, 1).first != a.first);
}

TEST_CASE("dropout is the identity outside training") {
  const Meta in[] = {{{1, 8}, DType::f32, {}}};
  const Dropout m({0.5}, context(in));
  const Tensor x = Tensor::full({1, 8}, 3);
  CHECK(m(x).to_doubles() == x.to_doubles());
}

TEST_CASE("hooks see inputs and outputs in order, may replace outputs, and can be removed") {
  const Meta in[] = {{{1, 2}, DType::f32, {}}};
  Linear m({2, false}, context(in));
  std::string seen;
  m.add_hook([&](const Module&, std::span<const Tensor>, Tensors* out) { seen += out == nullptr ? "a" : "A"; });
  const auto second = m.add_hook([&](const Module&, std::span<const Tensor>, Tensors* out) {
    seen += out == nullptr ? "b" : "B";
    if (out != nullptr) (*out)[0] = Tensor::full({1, 2}, 9);
  });
  CHECK(m(Tensor::zeros({1, 2})).to_doubles() == std::vector<double>{9, 9});
  CHECK(seen == "abAB");
  m.remove_hook(second);
  CHECK(m(Tensor::zeros({1, 2})).to_doubles() == std::vector<double>{0, 0});
}

TEST_CASE("an error in a forward says in which module it happened") {
  const Meta in[] = {{{1, 2}, DType::f32, {}}};
  const Linear m({2, true}, context(in, "head.3"));
  try {
    m(Tensor::zeros({1, 5}));
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.category == Category::usage);
    REQUIRE_FALSE(e.frames.empty());
    CHECK(e.frames[0] == "in module 'head.3'");
  }
}

TEST_CASE("a module that registers a name twice, or returns more than its caller takes, is an error of ours") {
  class Wrong final : public Module {
   public:
    Wrong(const BuildContext& b, bool twice) : Module(b) {
      buffer("weight", {1}, 0);
      if (twice) buffer("weight", {1}, 0);
    }

   protected:
    [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override { return {in[0], in[0]}; }
  };
  const Meta in[] = {{{2, 3}, DType::f32, {}}};
  CHECK_THROWS_WITH_AS(Wrong(context(in, "head"), true), "module 'head' registers two tensors called 'head.weight'; names are unique", Error);
  const Wrong m(context(in, "head"), false);
  CHECK_THROWS_WITH_AS((void)m(Tensor::zeros({2, 3})), "module 'head' gave 2 outputs to a caller that takes 1; call it with a list of inputs", Error);
}

TEST_CASE("state goes out and comes back through the visitor") {
  const Meta in[] = {{{2, 3}, DType::f32, {}}};
  Linear a({4, true}, context(in, "0"));
  BuildContext other = context(in, "0");
  other.seed = 8;
  Linear b({4, true}, other);
  CHECK(a.state_tensors()[0].tensor.to_doubles() != b.state_tensors()[0].tensor.to_doubles());
  Checkpoint saved;
  StateSaver saver(saved);
  a.state(saver);
  StateLoader loader(saved, "memory");
  b.state(loader);
  loader.finish();
  CHECK(a.state_tensors()[0].tensor.to_doubles() == b.state_tensors()[0].tensor.to_doubles());
  CHECK(a(Tensor::full({1, 3}, 1)).to_doubles() == b(Tensor::full({1, 3}, 1)).to_doubles());
}
