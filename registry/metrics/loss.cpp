// loss: a loss that is measured and not trained: plain cross entropy beside label smoothing, mse beside another one.
#include <fmt/core.h>

#include "lockstep/base/fold.h"
#include "lockstep/loss/loss.h"
#include "lockstep/metric/metric.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  Ref<LossDef> of;
};
constexpr Field kFields[] = {
    field<&Config::of>("of", "The loss that is measured. What is trained is reported without asking, as `<split>/loss`."),
};

/// A row holds the loss and what it counts; the value is the sum of the first over the sum of the second, as in training.
class LossMetric final : public Metric {
 public:
  LossMetric(const Config& c, const MetricContext& context) : loss_(c.of.make(LossContext{context.spec})) {}
  [[nodiscard]] Tensor rows(const Fields& out, const Fields& batch) const override {
    const NoGrad no_history;
    const std::vector<double> value = loss_->rows(out, batch).to_doubles();
    std::vector<double> weight;
    loss_->row_weights(batch, weight);
    Tensor both = Tensor::empty({static_cast<std::int64_t>(value.size()), 2}, DType::f64);
    const std::span<double> to = both.values<double>();
    for (std::size_t i = 0; i < value.size(); ++i) {
      to[2 * i] = value[i];
      to[2 * i + 1] = weight[i];
    }
    return both;
  }
  [[nodiscard]] double value(const MetricRows& r) const override {
    std::vector<double> sums, weights;
    for (std::size_t i = 0; i + 1 < r.values.size(); i += 2) {
      sums.push_back(r.values[i]);
      weights.push_back(r.values[i + 1]);
    }
    return fold_sum(sums) / fold_sum(weights);   // 0 / 0 without rows: NaN
  }
  [[nodiscard]] Direction direction() const override { return Direction::lower; }
  void check(const Fields& out, const Fields& batch) const override { loss_->check(out, batch); }

 private:
  std::unique_ptr<Loss> loss_;
};

}  // namespace

extern constinit const MetricDef metrics_loss = component<MetricDef, LossMetric, Config, kFields>(
    {.doc = "The mean of a loss that is not trained, beside `<split>/loss`, which is always reported. Give it an `id`.",
     .example = "{name: loss, id: nll, of: cross_entropy}"});

}  // namespace lockstep
