// The step of NUMERICS "Shards": every shard whole, gradients added by the pairwise tree, buffers updated in shard order.
#include "lockstep/runtime/step.h"

#include <cmath>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/base/fold.h"
#include "lockstep/base/pool.h"
#include "lockstep/ops/ops.h"

namespace lockstep {

struct Stepper::Shard {
  std::vector<double> sums;            // L_js, one per loss
  Effects effects;
  Tensors gradients;
};

namespace {

std::int64_t bound(std::int64_t s, std::int64_t n, std::int64_t shards) { return s * n / shards; }

/// The pairwise tree over shards (adjacent pairs by index, an odd last one carried up), fed one leaf at a time: partial
/// sums wait at their level as the digits of a binary counter. An empty shard is an empty leaf: whatever it would be added
/// to goes up as it is, so that an aligned block of shards has one sum however few rows there are.
class GradientTree {
 public:
  /// Shards come in order; those that are left out are empty.
  void add(std::int64_t shard, Tensors leaf) {
    while (count_ < static_cast<std::uint64_t>(shard)) push({});
    push(std::move(leaf));
  }
  Tensors total() {
    Tensors out;
    for (std::size_t level = 0; level < levels_.size(); ++level)
      if (((count_ >> level) & 1U) != 0) out = sum(levels_[level], out);
    return out;
  }

 private:
  void push(Tensors leaf) {
    std::size_t level = 0;
    for (std::uint64_t bits = count_++; (bits & 1U) != 0; bits >>= 1U, ++level) leaf = sum(levels_[level], leaf);
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level] = std::move(leaf);
  }
  static Tensors sum(const Tensors& a, const Tensors& b) {
    if (a.empty() || b.empty()) return a.empty() ? b : a;
    Tensors out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(lockstep::add(a[i], b[i]));
    return out;
  }
  std::vector<Tensors> levels_;
  std::uint64_t count_ = 0;
};

}  // namespace

Stepper::Stepper(Experiment& e) : e_(e), phase_(e.task->phases().front()) {}

/// d/dparams of sum_j c_j * L_js / W_j for one shard; its sums and effects go to `out`.
Tensors Stepper::shard_gradients(const Fields& rows, std::int64_t step, std::uint32_t shard, std::span<const double> totals, Shard& out) {
  Scope s = scope;
  s.grad = s.training = true;
  s.rng = {e_.seed(), static_cast<std::uint32_t>(step), 0, shard};
  s.effects = &out.effects;
  const Within within(s);
  Tensor total;
  const std::vector<Term> terms = e_.task->terms(phase_, rows);
  for (std::size_t j = 0; j < terms.size(); ++j) {
    out.sums.push_back(terms[j].sum.item());
    const Tensor scaled = mul_scalar(terms[j].sum, terms[j].coef / totals[j]);
    total = total ? add(total, scaled) : scaled;
  }
  return gradients(total, e_.optim->parameters());
}

StepResult Stepper::run(const Batch& batch) {
  const std::int64_t shards = e_.config.train.shards, rows = batch.fields.size();
  const std::int64_t at_once = std::min(e_.config.train.shards_per_pass, shards);

  // Shards with rows, and what each loss counts in them: W_j from the data alone.
  std::vector<std::int64_t> used;
  std::vector<Fields> parts;
  std::vector<std::vector<double>> weights(e_.losses.size(), std::vector<double>(static_cast<std::size_t>(shards)));
  for (std::int64_t s = 0; s < shards; ++s) {
    const std::int64_t begin = bound(s, rows, shards), end = bound(s + 1, rows, shards);
    if (begin == end) continue;
    used.push_back(s);
    parts.push_back(shards == 1 ? batch.fields : batch.fields.rows(begin, end));
    const auto w = e_.task->weights(phase_, parts.back());
    for (std::size_t j = 0; j < w.size(); ++j) weights[j][static_cast<std::size_t>(s)] = w[j];
  }
  std::vector<double> totals;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    totals.push_back(fold_sum(weights[j]));
    if (!(totals[j] > 0))
      failf(Category::data, "step {}: loss '{}' counts no row of the batch (weight {}); its targets are all ignored or weighted 0",
            batch.step + 1, e_.losses[j].id, totals[j]);
  }

  std::vector<Shard> done(used.size());
  GradientTree tree;
  for (std::size_t first = 0; first < used.size(); first += static_cast<std::size_t>(at_once)) {
    const std::size_t n = std::min(used.size() - first, static_cast<std::size_t>(at_once));
    const auto one = [&](std::int64_t i) {
      const std::size_t k = first + static_cast<std::size_t>(i);
      done[k].gradients = shard_gradients(parts[k], batch.step, static_cast<std::uint32_t>(used[k]), totals, done[k]);
    };
    parallel_for(static_cast<std::int64_t>(n), one);
    for (std::size_t k = first; k < first + n; ++k) tree.add(used[k], std::move(done[k].gradients));
  }

  const NoGrad off;
  StepResult out;
  std::vector<double> sums(static_cast<std::size_t>(shards));
  for (std::size_t j = 0; j < e_.losses.size(); ++j) {
    for (std::size_t k = 0; k < done.size(); ++k) sums[static_cast<std::size_t>(used[k])] = done[k].sums[j];
    out.loss += e_.losses[j].coef * (fold_sum(sums) / totals[j]);
  }
  const Tensors gradients = tree.total();
  out.grad_norm = clip_grad_norm(gradients, e_.config.train.clip_grad_norm);
  if (!std::isfinite(out.loss) || !std::isfinite(out.grad_norm)) {
    const bool loss = !std::isfinite(out.loss);
    const double value = loss ? out.loss : out.grad_norm;
    failf(Category::numeric, 
          "step {}: the {} is {}. Lower the learning rate, clip gradients, or look at the batch (epoch {}, its first sample "
          "is {})",
          batch.step + 1, loss ? "loss" : "gradient norm", std::isnan(value) ? "not a number" : value > 0 ? "infinite" : "-infinite",
          batch.epoch + 1, batch.samples.empty() ? -1 : batch.samples.front());
  }
  out.lr = e_.optim->lr(batch.step);
  e_.optim->update(gradients, batch.step);
  apply_effects(done);
  out.fingerprint = fingerprint();
  return out;
}

/// Shards ask for the same buffers in the same order: position i of every list is one buffer.
void Stepper::apply_effects(std::span<const Shard> shards) {
  if (shards.empty()) return;
  for (std::size_t i = 0; i < shards.front().effects.list.size(); ++i) {
    const Effect& first = shards.front().effects.list[i];
    if (!first.statistic) {
      Tensor counter = first.buffer;
      counter.values<std::int64_t>()[0] += 1;
      continue;
    }
    Tensor mean = first.statistic;
    for (std::size_t s = 1; s < shards.size(); ++s) mean = add(mean, shards[s].effects.list[i].statistic);
    if (shards.size() > 1) mean = div(mean, fill({}, static_cast<double>(shards.size()), mean.dtype()));
    lerp_(first.buffer, mean, first.momentum);
  }
}

Nh128 Stepper::fingerprint() const {
  const NoGrad off;
  Nh128 out;
  std::uint64_t word = 0;
  for (const auto& t : e_.state) {
    const Tensor part = nh128(t.tensor, static_cast<std::int64_t>(word));
    const auto v = part.values<std::int64_t>();
    out += Nh128{static_cast<std::uint64_t>(v[0]), static_cast<std::uint64_t>(v[1])};
    word += nh128_extent(static_cast<std::uint64_t>(t.tensor.numel()) * size_of(t.tensor.dtype()));
  }
  return out;
}

}  // namespace lockstep
