// step: lr times gamma once every step_size epochs or optimizer steps.
#include "lockstep/optim/schedule.h"

namespace lockstep {
namespace {

enum class Unit : std::uint8_t { epochs, steps };
constexpr Choice kUnitChoices[] = {{"epochs", Unit::epochs, "passes over the training split"},
                                   {"steps", Unit::steps, "optimizer steps"}};
constexpr std::span<const Choice> choices_of(Unit) { return kUnitChoices; }

struct Config {
  std::int64_t step_size = 1;
  double gamma = 0.1;
  Unit unit = Unit::epochs;
};
constexpr Field kFields[] = {
    field<&Config::step_size>("step_size", "Units between two reductions.").in(1, 9007199254740991.0).required(),
    field<&Config::gamma>("gamma", "Factor of each reduction.").above(0, 1),
    field<&Config::unit>("unit", "What step_size counts; warm-up is not counted."),
};

/// base to the power n >= 0, by squaring: a fixed tree of products.
double power(double base, std::int64_t n) {
  double out = 1;
  for (; n > 0; n >>= 1) {
    if ((n & 1) != 0) out *= base;
    base *= base;
  }
  return out;
}

class Step final : public Schedule {
 public:
  explicit Step(const Config& c) : c_(c) {}
  [[nodiscard]] double factor(std::int64_t step, const Counters& c) const override {
    const std::int64_t unit = c_.unit == Unit::epochs ? std::max<std::int64_t>(c.steps_per_epoch, 1) : 1;
    return power(c_.gamma, step / unit / c_.step_size);
  }

 private:
  Config c_;
};

}  // namespace

extern constinit const ScheduleDef schedules_step = component<ScheduleDef, Step, Config, kFields>(
    {.doc = "Multiplies lr by gamma every step_size epochs (or steps).", .example = "step: {step_size: 30, gamma: 0.1}"});

}  // namespace lockstep
