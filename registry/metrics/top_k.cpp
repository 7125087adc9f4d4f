// top_k: part of the samples whose target is among the k largest logits. Among equal logits the lower class ranks first.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/metric/metric.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  std::int64_t k = 5;
};
constexpr Field kFields[] = {
    field<&Config::k>("k", "How many of the largest logits count.").in(1, 1e9),
};
constexpr std::string_view kWho = "metric 'top_k'";

/// True when fewer than k of the n logits rank before the target's. A NaN counts as the largest of all, as in argmax.
bool among_first(const double* logits, std::int64_t n, std::int64_t target, std::int64_t k) {
  if (target < 0 || target >= n) return false;
  const auto rank_before = [&](std::int64_t a, std::int64_t b) {
    const bool nan_a = logits[a] != logits[a], nan_b = logits[b] != logits[b];
    if (nan_a != nan_b) return nan_a;
    if (nan_a || logits[a] == logits[b]) return a < b;
    return logits[a] > logits[b];
  };
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < n; ++j)
    if (j != target && rank_before(j, target)) ++before;
  return before < k;
}

class TopK final : public Metric {
 public:
  TopK(const Config& c, const MetricContext& context)
      : k_(c.k), target_(target_name(context.spec, kWho)), num_classes_(context.spec.find(target_)->num_classes) {}
  [[nodiscard]] Tensor rows(const Fields& out, const Fields& batch) const override {
    const std::int64_t n = out.at("logits").size(0), classes = out.at("logits").size(1);
    const std::vector<double> logits = out.at("logits").to_doubles(), target = batch.at(target_).to_doubles();
    Tensor hits = Tensor::zeros({n}, DType::u8);
    const std::span<std::uint8_t> hit = hits.values<std::uint8_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      hit[row] = among_first(logits.data() + i * classes, classes, static_cast<std::int64_t>(target[row]), k_) ? 1 : 0;
    }
    return hits;
  }
  [[nodiscard]] double value(const MetricRows& r) const override { return mean_of(r); }
  [[nodiscard]] Direction direction() const override { return Direction::higher; }
  void check(const Fields& out, const Fields& batch) const override {
    check_classes(kWho, out.at("logits"), batch.at(target_), num_classes_);
    const std::int64_t classes = out.at("logits").shape()[1];
    if (k_ > classes)
      failf(Category::usage, "{}: k is {} and there are {} classes; k must be at most the number of classes", kWho, k_, classes);
  }

 private:
  std::int64_t k_;
  std::string target_;
  std::int64_t num_classes_ = 0;
};

}  // namespace

extern constinit const MetricDef metrics_top_k = component<MetricDef, TopK, Config, kFields>(
    {.doc = "Part of the samples whose target is among the k largest logits, in [0, 1].", .example = "top_k: {k: 3}"});

}  // namespace lockstep
