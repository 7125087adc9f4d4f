// The metric `loss`: the loss that is trained measured once more has its bits; another one has its own value.
#include "runtime/runs.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

struct Evaluations final : Observer {
  std::map<std::string, double> last;
  void evaluated(std::int64_t, std::int64_t, const Evaluation& e) override {
    for (const auto& m : e.metrics) last[m.name] = m.value;
  }
};

std::map<std::string, double> evaluate_with(std::string loss, std::string metric) {
  const Place place;
  Evaluations seen;
  train(place.config({"loss=" + loss, "metrics=[{name: loss, id: other, of: " + metric + "}]"}), {.runs_dir = place.runs(), .threads = 1}, seen);
  return seen.last;
}

}  // namespace

TEST_CASE("a loss that is measured has the bits of one that is trained") {
  for (const std::string loss : {"cross_entropy", "{name: cross_entropy, weight: [1, 3, 0.5]}", "{name: cross_entropy, ignore_index: 1}"}) {
    CAPTURE(loss);
    auto same = evaluate_with(loss, loss);
    CHECK(same.at("val/loss") > 0);
    CHECK(same.at("val/other") == same.at("val/loss"));
  }
  auto smoothed = evaluate_with("{name: cross_entropy, label_smoothing: 0.3}", "cross_entropy");
  CHECK(smoothed.at("val/other") > 0);
  CHECK(smoothed.at("val/other") != smoothed.at("val/loss"));
}
