// early_stopping: when it stops, and that its state comes back.
#include <doctest/doctest.h>

#include <limits>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/hook/hook.h"
#include "lockstep/state/save_load.h"
#include "print.h"

using namespace lockstep;
using test::chosen;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct FakeRun final : RunView {
  std::optional<double> value;
  std::string reason;
  [[nodiscard]] std::int64_t step() const override { return 0; }
  [[nodiscard]] std::int64_t epoch() const override { return 0; }
  [[nodiscard]] std::optional<double> metric(std::string_view) const override { return value; }
  void request_stop(std::string why) override { reason = std::move(why); }
};

/// What a run with the metric val/accuracy says of directions.
DirectionOf directions(Direction better = Direction::higher) {
  return [better](std::string_view name) {
    if (name != "val/accuracy") fail(Category::usage, "no such metric");
    return better;
  };
}

/// After how many of `values` the hook asks to stop; 0: never.
std::size_t stops_after(std::string_view options, std::initializer_list<double> values, Direction better = Direction::higher) {
  const auto hook = chosen<HookDef>("{name: early_stopping, monitor: val/accuracy, " + std::string(options) + "}").make();
  FakeRun run;
  hook->prepare(directions(better));
  std::size_t n = 0;
  for (const double v : values) {
    ++n;
    run.value = v;
    hook->at(Point::eval_end, run);
    if (!run.reason.empty()) return n;
  }
  return 0;
}

}  // namespace

TEST_CASE("patience 3 stops after the third evaluation without improvement") {
  CHECK(stops_after("patience: 3", {0.5, 0.4, 0.4, 0.4, 0.9}) == 4);
  CHECK(stops_after("patience: 3", {0.5, 0.4, 0.4, 0.6, 0.5, 0.5, 0.5}) == 7);
  CHECK(stops_after("patience: 1", {0.5, 0.5}) == 2);
}

TEST_CASE("the direction is the metric's, or what mode says") {
  CHECK(stops_after("patience: 2", {3, 2, 1, 0.5}, Direction::lower) == 0);
  CHECK(stops_after("patience: 2, mode: min", {3, 2, 1, 0.5}) == 0);
  CHECK(stops_after("patience: 2, mode: max", {3, 2, 1, 0.5}, Direction::lower) == 3);
  CHECK_THROWS_AS((void)stops_after("patience: 2", {1}, Direction::none), Error);
}

TEST_CASE("an improvement is more than min_delta") {
  CHECK(stops_after("patience: 2, min_delta: 0.1", {0.5, 0.55, 0.6}) == 3);
  CHECK(stops_after("patience: 2, min_delta: 0.1", {0.5, 0.55, 0.65, 0.7}) == 0);
}

TEST_CASE("NaN never improves, and anything improves on it") {
  CHECK(stops_after("patience: 2", {kNan, kNan}) == 2);
  CHECK(stops_after("patience: 2", {kNan, 0.1, kNan, 0.2}) == 0);
}

TEST_CASE("an evaluation without the metric changes nothing; an unknown metric is refused at the start") {
  const auto hook = chosen<HookDef>("{name: early_stopping, monitor: val/accuracy, patience: 1}").make();
  FakeRun run;
  hook->prepare(directions());
  for (int i = 0; i < 5; ++i) hook->at(Point::eval_end, run);
  CHECK(run.reason.empty());
  const auto other = chosen<HookDef>("{name: early_stopping, monitor: val/acuracy}").make();
  CHECK_THROWS_AS(other->prepare(directions()), Error);
}

TEST_CASE("patience and best survive a resume") {
  const auto ref = chosen<HookDef>("{name: early_stopping, monitor: val/accuracy, patience: 2}");
  const auto a = ref.make(), b = ref.make();
  FakeRun run;
  a->prepare(directions());
  for (const double v : {0.5, 0.4}) {
    run.value = v;
    a->at(Point::eval_end, run);
  }
  Checkpoint saved;
  StateSaver saver(saved);
  a->state(saver);
  b->prepare(directions());
  StateLoader loader(saved, "memory");
  b->state(loader);
  loader.finish();
  b->at(Point::eval_end, run);
  CHECK(run.reason == "early stopping: val/accuracy has not improved for 2 evaluations; best 0.5, last 0.4");
}
