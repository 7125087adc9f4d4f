// Losses that compare each output with a number of the target.
#include "lockstep/loss/elementwise.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

/// True for [n, 1] against [n].
bool one_more(const Shape& logits, const Shape& target) {
  return logits.rank() == target.rank() + 1 && logits[target.rank()] == 1 && std::ranges::equal(target, std::span(logits.begin(), target.rank()));
}

}  // namespace

ElementwiseLoss::ElementwiseLoss(std::string_view who, const LossContext& c) : who_(who), target_(target_name(c.spec, who)) {}

Tensor ElementwiseLoss::rows(const Fields& out, const Fields& batch) const {
  const Tensor& target = batch.at(target_);
  Tensor logits = out.at("logits");
  if (logits.shape() != target.shape() && one_more(logits.shape(), target.shape())) logits = reshape(logits, target.shape());
  const Tensor e = elements(logits, cast(target, logits.dtype()));
  if (e.rank() < 2) return e;
  Shape axes;
  for (std::size_t a = 1; a < e.rank(); ++a) axes.push_back(static_cast<std::int64_t>(a));
  return mean(e, axes);
}

void ElementwiseLoss::row_weights(const Fields& batch, std::vector<double>& weights) const {
  weights.insert(weights.end(), static_cast<std::size_t>(batch.at(target_).size(0)), 1.0);
}

void ElementwiseLoss::check(const Fields& out, const Fields& batch) const {
  const Tensor &logits = out.at("logits"), &target = batch.at(target_);
  if (logits.shape() != target.shape() && !one_more(logits.shape(), target.shape()))
    failf(Category::usage,
          "{}: logits are {} and the target '{}' is {}; they must have one shape, since nothing is broadcast: change the last "
          "layer so that it gives one value for each value of the target",
          who_, text(logits.shape()), target_, text(target.shape()));
  if (!is_floating(logits.dtype()))
    failf(Category::usage, "{}: logits are {}; they must be floating", who_, text(logits.dtype()));
}

}  // namespace lockstep
