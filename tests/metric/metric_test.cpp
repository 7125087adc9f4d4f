// Metrics: values per sample, means over all samples, ties and NaN.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/metric/metric.h"
#include "lockstep/nn/spec.h"
#include "print.h"

using namespace lockstep;
using test::chosen, test::classes_spec;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> rows(std::string_view yaml, std::initializer_list<double> logits, std::initializer_list<std::int64_t> targets) {
  const auto n = static_cast<std::int64_t>(targets.size());
  const SampleSpec spec = classes_spec({3}, static_cast<std::int64_t>(logits.size()) / n);
  const auto metric = chosen<MetricDef>(yaml).make(MetricContext{spec});
  Fields out, batch;
  out.set("logits", Tensor::of(logits, {n, static_cast<std::int64_t>(logits.size()) / n}));
  batch.set("target", Tensor::of(targets, {n}));
  metric->check(out, batch);
  return metric->rows(out, batch).to_doubles();
}

}  // namespace

TEST_CASE("accuracy: a row is 1 when the largest logit is the target's; the lowest class wins ties, NaN is largest") {
  CHECK(rows("accuracy", {1, 2, 0, 5, 5, 1, 0, kNan, 9}, {1, 1, 1}) == std::vector<double>{1, 0, 1});
}

TEST_CASE("top_k: among the k largest, ties to the lower class; k = 1 is accuracy") {
  CHECK(rows("{name: top_k, k: 2}", {1, 2, 0, 5, 5, 5, 0, 1, kNan}, {0, 2, 0}) == std::vector<double>{1, 0, 0});
  CHECK(rows("{name: top_k, k: 1}", {1, 2, 0, 5, 5, 1, 0, kNan, 9}, {1, 1, 1}) == std::vector<double>{1, 0, 1});
}

TEST_CASE("the value is a mean over all rows, NaN for none") {
  const SampleSpec spec = classes_spec({3}, 3);
  const auto metric = chosen<MetricDef>("accuracy").make(MetricContext{spec});
  CHECK(metric->value({1, {1, 0, 1, 1}}) == 0.75);
  CHECK(std::isnan(metric->value({1, {}})));
  CHECK(metric->direction() == Direction::higher);
}

TEST_CASE("k above the number of classes is refused") {
  const SampleSpec spec = classes_spec({3}, 3);
  const auto metric = chosen<MetricDef>("{name: top_k, k: 4}").make(MetricContext{spec});
  Fields out;
  out.set("logits", Tensor::empty({2, 3}, DType::f32, Device::meta));
  CHECK_THROWS_WITH_AS(metric->check(out, meta_fields(spec, 2)),
                       "metric 'top_k': k is 4 and there are 3 classes; k must be at most the number of classes", Error);
}
