// Losses: values worked out by hand, weights from the data alone, refusals.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/loss/loss.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"
#include "print.h"

using namespace lockstep;
using test::chosen, test::classes_spec, test::numbers_spec;

namespace {

std::unique_ptr<Loss> make(std::string_view yaml, const SampleSpec& spec, DType t = DType::f64) {
  return chosen<LossDef>(yaml).make(LossContext{spec, t});
}
Fields logits(Tensor t) {
  Fields f;
  f.set("logits", std::move(t));
  return f;
}
Fields target(Tensor t) {
  Fields f;
  f.set("target", std::move(t));
  return f;
}
/// -log softmax of `x` at `t`.
double nll(std::vector<double> x, std::size_t t) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  return std::log(sum) - x[t];
}

}  // namespace

TEST_CASE("cross_entropy: the mean over a batch is PyTorch's, with class weights and ignored rows") {
  const SampleSpec spec = classes_spec({3}, 3);
  const auto loss = make("{name: cross_entropy, weight: [1, 2, 4], ignore_index: -1}", spec);
  const Fields out = logits(Tensor::of<double>({1, 2, 3, 0, 0, 1, 5, 5, 5}, {3, 3}));
  const Fields batch = target(Tensor::of<std::int64_t>({1, 2, -1}, {3}));
  CHECK(loss->weight(batch) == 6);
  const double sum = 2 * nll({1, 2, 3}, 1) + 4 * nll({0, 0, 1}, 2);
  CHECK(loss->sum(out, batch).item() == doctest::Approx(sum).epsilon(1e-14));
  CHECK(loss->rows(out, batch).to_doubles()[2] == 0);
}

TEST_CASE("cross_entropy: class weights are rounded to the dtype, so that sum and weight agree") {
  const SampleSpec spec = classes_spec({2}, 2);
  const auto loss = make("{name: cross_entropy, weight: [0.1, 1]}", spec, DType::f32);
  CHECK(loss->weight(target(Tensor::of<std::int64_t>({0}, {1}))) == static_cast<double>(0.1F));
}

TEST_CASE("mse and bce_with_logits average over a row; a row counts 1") {
  const SampleSpec spec = numbers_spec({4}, {2});
  const auto mse = make("mse", spec);
  const Fields batch = target(Tensor::of<double>({1, 2, 3, 4}, {2, 2}));
  CHECK(mse->rows(logits(Tensor::of<double>({2, 4, 3, 1}, {2, 2})), batch).to_doubles() == std::vector<double>{2.5, 4.5});
  CHECK(mse->weight(batch) == 2);
  const auto bce = make("bce_with_logits", spec), weighted = make("{name: bce_with_logits, pos_weight: [3]}", spec);
  const Fields bits = target(Tensor::of<double>({1, 0}, {1, 2})), x = logits(Tensor::of<double>({0.5, -2}, {1, 2}));
  const double positive = std::log1p(std::exp(-0.5)), negative = std::log1p(std::exp(-2.0));
  CHECK(bce->sum(x, bits).item() == doctest::Approx((positive + negative) / 2).epsilon(1e-14));
  CHECK(weighted->sum(x, bits).item() == doctest::Approx((3 * positive + negative) / 2).epsilon(1e-14));
  CHECK(std::isfinite(weighted->sum(logits(Tensor::of<double>({-800, 800}, {1, 2})), bits).item()));
}

TEST_CASE("a column of outputs stands against a vector of numbers, never an outer product") {
  const SampleSpec spec = numbers_spec({4}, {});
  const auto mse = make("mse", spec);
  const Fields out = logits(Tensor::of<double>({1, 2, 3}, {3, 1})), batch = target(Tensor::of<double>({1, 1, 1}, {3}));
  mse->check(out, batch);
  CHECK(mse->rows(out, batch).to_doubles() == std::vector<double>{0, 1, 4});
}

TEST_CASE("shapes that do not fit are refused: both shapes, the rule, what to do") {
  const SampleSpec spec = classes_spec({3}, 3);
  const auto ce = make("cross_entropy", spec);
  const Fields batch = meta_fields(spec, 8);
  const auto meta = [](const Shape& s) { return logits(Tensor::empty(s, DType::f32, Device::meta)); };
  CHECK_NOTHROW(ce->check(meta({8, 3}), batch));
  CHECK_THROWS_WITH_AS(ce->check(meta({8, 3, 1}), batch),
                       "loss 'cross_entropy': logits are [8, 3, 1] and the target is [8]; logits must be [n, classes] and the target "
                       "[n]: end the model with a linear layer of 3 features over a flat input",
                       Error);
  CHECK_THROWS_WITH_AS(ce->check(meta({8, 4}), batch),
                       "loss 'cross_entropy': the model gives 4 values a row, and the data has 3 classes; they must be equal: set the "
                       "last layer's out_features to 3",
                       Error);
  CHECK_THROWS_WITH_AS((void)make("{name: cross_entropy, weight: [1, 2]}", spec),
                       "loss 'cross_entropy': weight has 2 numbers, and there are 3 classes; give one number a class", Error);
  const SampleSpec numbers = numbers_spec({3}, {2});
  CHECK_THROWS_WITH_AS(make("cross_entropy", numbers)->check(meta({8, 2}), meta_fields(numbers, 8)),
                       "loss 'cross_entropy': logits are float32 and the target is float32; logits must be floating and the target class "
                       "indices of int64",
                       Error);
  CHECK_THROWS_WITH_AS(make("mse", numbers)->check(meta({8, 3}), meta_fields(numbers, 8)),
                       "loss 'mse': logits are [8, 3] and the target 'target' is [8, 2]; they must have one shape, since nothing is "
                       "broadcast: change the last layer so that it gives one value for each value of the target",
                       Error);
  CHECK_THROWS_WITH_AS(make("mse", numbers)->check(logits(Tensor::empty({8, 2}, DType::i64, Device::meta)), meta_fields(numbers, 8)),
                       "loss 'mse': logits are int64; they must be floating", Error);
  CHECK_THROWS_WITH_AS(make("{name: bce_with_logits, pos_weight: [1, 2, 3]}", numbers)->check(meta({8, 2}), meta_fields(numbers, 8)),
                       "loss 'bce_with_logits': pos_weight has 3 numbers and logits are [8, 2]; it takes one number, or as many as the last axis",
                       Error);
}

TEST_CASE("a target outside the classes is a data error that names the row") {
  const SampleSpec spec = classes_spec({3}, 3);
  const auto ce = make("cross_entropy", spec);
  CHECK_THROWS_WITH_AS((void)ce->weight(target(Tensor::of<std::int64_t>({0, 7}, {2}))),
                       "loss 'cross_entropy': row 1 of the batch has the target 7; targets are in [0, 3) or -100, which is ignored", Error);
}

TEST_CASE("a loss over data without targets is refused") {
  SampleSpec spec;
  spec.fields.push_back({.name = "input", .role = FieldRole::input, .dtype = DType::f32, .shape = {3}});
  CHECK_THROWS_WITH_AS((void)make("mse", spec), "loss 'mse': the data has no field with the role target; choose a dataset with labels", Error);
}
