// early_stopping: ends the run when a metric has not improved for `patience` evaluations in a row.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/hook/hook.h"

namespace lockstep {
namespace {

enum class Mode : std::uint8_t { automatic, min, max };
constexpr Choice kModeChoices[] = {{"auto", Mode::automatic, "the metric's own direction"},
                                   {"min", Mode::min, "lower is better"},
                                   {"max", Mode::max, "higher is better"}};
constexpr std::span<const Choice> choices_of(Mode) { return kModeChoices; }

struct Config {
  std::string monitor = "val/loss";
  std::int64_t patience = 3;
  double min_delta = 0;
  Mode mode = Mode::automatic;
};
constexpr Field kFields[] = {
    field<&Config::monitor>("monitor", "Metric that must improve, e.g. val/accuracy."),
    field<&Config::patience>("patience", "Evaluations in a row without improvement after which the run ends.").in(1, 9007199254740991.0),
    field<&Config::min_delta>("min_delta", "An improvement is more than this.").at_least(0),
    field<&Config::mode>("mode", "Whether lower or higher is better."),
};

/// NaN is worse than everything: it never improves, and anything else improves on it.
class EarlyStopping final : public Hook {
 public:
  explicit EarlyStopping(const Config& c) : c_(c) {}

  void prepare(const DirectionOf& direction) override {
    const Direction own = direction(c_.monitor);  // refuses a metric that this run does not have
    if (c_.mode == Mode::automatic && own == Direction::none)
      failf(Category::usage, "early_stopping: '{}' has no direction of its own; set mode to min or max", c_.monitor);
    lower_is_better_ = c_.mode == Mode::automatic ? own == Direction::lower : c_.mode == Mode::min;
  }

  void at(Point p, RunView& run) override {
    if (p != Point::eval_end) return;
    const std::optional<double> value = run.metric(c_.monitor);
    if (!value) return;                                 // another evaluation than the monitored one
    if (improves(*value)) {
      best_ = *value;
      has_best_ = 1;
      stale_ = 0;
      return;
    }
    if (++stale_ >= c_.patience)
      run.request_stop(fmt::format("early stopping: {} has not improved for {} evaluations; best {}, last {}", c_.monitor, stale_,
                                   has_best_ != 0 ? fmt::format("{}", best_) : std::string("none"), *value));
  }

  void state(StateVisitor& v) override {
    v.real("best", best_);
    v.integer("has_best", has_best_);
    v.integer("stale", stale_);
  }
  [[nodiscard]] bool listens() const override { return true; }

 private:
  [[nodiscard]] bool improves(double v) const {
    if (v != v) return false;
    if (has_best_ == 0) return true;
    return lower_is_better_ ? v < best_ - c_.min_delta : v > best_ + c_.min_delta;
  }

  Config c_;
  bool lower_is_better_ = true;
  double best_ = 0;
  std::int64_t has_best_ = 0, stale_ = 0;
};

}  // namespace

extern constinit const HookDef hooks_early_stopping = component<HookDef, EarlyStopping, Config, kFields>(
    {.doc = "Ends the run when a metric has not improved for `patience` evaluations in a row.",
     .example = "early_stopping: {monitor: val/accuracy, patience: 3}"});

}  // namespace lockstep
