// Collects values per row over a split and folds them once.
#include "lockstep/runtime/evaluate.h"

#include "lockstep/base/error.h"
#include "lockstep/base/fold.h"
#include "lockstep/base/signals.h"

namespace lockstep {
namespace {

/// Appends the elements of `t` ([n] or [n, k]) and returns k.
std::int64_t append(const Tensor& t, std::vector<double>& out) {
  const std::vector<double> v = t.to_doubles();
  out.insert(out.end(), v.begin(), v.end());
  return t.rank() > 1 ? t.size(1) : 1;
}

}  // namespace

std::optional<Evaluation> evaluate(const Experiment& e, const Split& split) {
  const int before = interrupts();
  Scope s = scope;
  s.grad = s.training = false;
  s.effects = nullptr;
  const Within within(s);

  struct LossRows {
    std::vector<double> values, weights;
  };
  std::vector<LossRows> losses(e.losses.size());
  std::vector<MetricRows> rows(e.metrics.size());
  Evaluation out;
  Loader loader(*split.dataset, split.transforms, e.config.data.loader, e.seed(), Pass::evaluation);
  Batch batch;
  while (loader.next(batch)) {
    if (interrupts() != before) return std::nullopt;
    const Fields predicted = e.task->predict(batch.fields);
    for (std::size_t j = 0; j < losses.size(); ++j) {
      append(e.losses[j].loss->rows(predicted, batch.fields), losses[j].values);
      e.losses[j].loss->row_weights(batch.fields, losses[j].weights);
    }
    for (std::size_t m = 0; m < rows.size(); ++m)
      rows[m].columns = append(e.metrics[m].metric->rows(predicted, batch.fields), rows[m].values);
    out.samples += batch.fields.size();
  }
  double total = 0;
  for (std::size_t j = 0; j < losses.size(); ++j)
    total += e.losses[j].coef * (fold_sum(losses[j].values) / fold_sum(losses[j].weights));
  out.metrics.push_back({split.id + "/loss", total});
  for (std::size_t m = 0; m < rows.size(); ++m) out.metrics.push_back({split.id + "/" + e.metrics[m].id, e.metrics[m].metric->value(rows[m])});
  return out;
}

}  // namespace lockstep
