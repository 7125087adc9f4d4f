// cross_entropy: -log softmax(logits)[target] a row, as torch.nn.CrossEntropyLoss. logits [n, classes], target [n]
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/loss/loss.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

constexpr std::string_view kWho = "loss 'cross_entropy'";

struct Config {
  double label_smoothing = 0;
  std::vector<double> weight;
  std::int64_t ignore_index = -100;
};
constexpr Field kFields[] = {
    field<&Config::label_smoothing>("label_smoothing", "Part of each target that is spread evenly over all classes.").in(0, 1),
    field<&Config::weight>("weight", "Class weights, one a class: they scale a row's loss and what the row counts; [] is none.").at_least(0),
    field<&Config::ignore_index>("ignore_index", "Rows with this target do not count."),
};

/// A batch's loss is the sum of the rows over the sum of the class weights of the rows that count: PyTorch's mean, label
/// smoothing included.
class CrossEntropy final : public Loss {
 public:
  CrossEntropy(const Config& c, const LossContext& context)
      : c_(c), target_(target_name(context.spec, kWho)), num_classes_(context.spec.find(target_)->num_classes) {
    if (c.weight.empty()) return;
    check_weights(num_classes_);
    const auto n = static_cast<std::int64_t>(c.weight.size());
    weight_ = cast(Tensor::of(std::span<const double>(c.weight), {n}), context.dtype);
    counts_ = weight_.to_doubles();                     // rounded to the dtype, so that sum and weight agree
  }

  [[nodiscard]] Tensor rows(const Fields& out, const Fields& batch) const override {
    return cross_entropy(out.at("logits"), batch.at(target_), weight_, c_.label_smoothing, c_.ignore_index);
  }

  void row_weights(const Fields& batch, std::vector<double>& weights) const override {
    const Tensor target = contiguous(batch.at(target_));
    std::int64_t row = 0;
    for (const std::int64_t t : std::as_const(target).values<std::int64_t>()) {
      if (t != c_.ignore_index && (t < 0 || (num_classes_ > 0 && t >= num_classes_)))
        failf(Category::data, "{}: row {} of the batch has the target {}; targets are in [0, {}) or {}, which is ignored", kWho, row, t,
              num_classes_, c_.ignore_index);
      const bool counted = t != c_.ignore_index;
      weights.push_back(!counted ? 0.0 : counts_.empty() ? 1.0 : counts_.at(static_cast<std::size_t>(t)));
      ++row;
    }
  }

  void check(const Fields& out, const Fields& batch) const override {
    check_classes(kWho, out.at("logits"), batch.at(target_), num_classes_);
    check_weights(out.at("logits").shape()[1]);
  }

 private:
  void check_weights(std::int64_t classes) const {
    if (!c_.weight.empty() && classes > 0 && static_cast<std::int64_t>(c_.weight.size()) != classes)
      failf(Category::usage, "{}: weight has {} numbers, and there are {} classes; give one number a class", kWho, c_.weight.size(), classes);
  }

  Config c_;
  std::string target_;
  std::int64_t num_classes_ = 0;
  Tensor weight_;
  std::vector<double> counts_;
};

}  // namespace

extern constinit const LossDef losses_cross_entropy = component<LossDef, CrossEntropy, Config, kFields>(
    {.doc = "Cross-entropy of class indices under softmax(output), as torch.nn.CrossEntropyLoss.",
     .example = "cross_entropy: {label_smoothing: 0.1}"});

}  // namespace lockstep
