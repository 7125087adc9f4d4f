// accuracy: part of the samples whose largest logit is the target's. Ties go to the lowest class.
#include "lockstep/metric/metric.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {};
constexpr std::string_view kWho = "metric 'accuracy'";

class Accuracy final : public Metric {
 public:
  Accuracy(const Config&, const MetricContext& c)
      : target_(target_name(c.spec, kWho)), num_classes_(c.spec.find(target_)->num_classes) {}
  [[nodiscard]] Tensor rows(const Fields& out, const Fields& batch) const override {
    const NoGrad no_history;
    return eq(argmax(out.at("logits"), 1), batch.at(target_));
  }
  [[nodiscard]] double value(const MetricRows& r) const override { return mean_of(r); }
  [[nodiscard]] Direction direction() const override { return Direction::higher; }
  void check(const Fields& out, const Fields& batch) const override {
    check_classes(kWho, out.at("logits"), batch.at(target_), num_classes_);
  }

 private:
  std::string target_;
  std::int64_t num_classes_ = 0;
};

}  // namespace

extern constinit const MetricDef metrics_accuracy = component<MetricDef, Accuracy, Config, kNoFields>(
    {.doc = "Part of the samples whose largest logit is the target's, in [0, 1].", .example = "accuracy"});

}  // namespace lockstep
