// Metric: values per sample, folded into one number over the whole dataset; batch size never matters.
#pragma once

#include "lockstep/base/direction.h"
#include "lockstep/component/component.h"
#include "lockstep/data/fields.h"

namespace lockstep {

/// All rows of a pass in dataset order: [n, k] in f64.
struct MetricRows {
  std::int64_t columns = 1;
  std::vector<double> values;
  [[nodiscard]] std::int64_t rows() const { return columns > 0 ? static_cast<std::int64_t>(values.size()) / columns : 0; }
};

/// What a factory knows: the data's spec.
struct MetricContext {
  const SampleSpec& spec;
};

class Metric {
 public:
  static constexpr std::string_view kKind = "metrics";
  virtual ~Metric() = default;
  /// Per-sample values [n] or [n, k] of a batch, any numeric dtype; no history.
  [[nodiscard]] virtual Tensor rows(const Fields& out, const Fields& batch) const = 0;
  /// The number people read; sums in f64 with the tree of NUMERICS A4 (base/fold.h). NaN when there are no rows.
  [[nodiscard]] virtual double value(const MetricRows& r) const = 0;
  [[nodiscard]] virtual Direction direction() const = 0;
  [[nodiscard]] virtual std::string_view unit() const { return ""; }   // "%", "", "nats"
  virtual void check(const Fields& out, const Fields& batch) const = 0;
};
using MetricDef = ComponentOf<Metric, const MetricContext&>;

/// Mean over the rows of one column (A4); NaN when there are none.
double mean_of(const MetricRows& r);

}  // namespace lockstep
