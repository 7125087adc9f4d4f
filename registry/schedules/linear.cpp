// linear: a straight line from lr to end_factor * lr at the last step.
#include "lockstep/optim/schedule.h"

namespace lockstep {
namespace {

struct Config {
  double end_factor = 0;
};
constexpr Field kFields[] = {
    field<&Config::end_factor>("end_factor", "Part of lr that is left at the end.").in(0, 1),
};

class LinearDecay final : public Schedule {
 public:
  explicit LinearDecay(const Config& c) : c_(c) {}
  [[nodiscard]] double factor(std::int64_t step, const Counters& c) const override {
    if (step >= c.total_steps) return c_.end_factor;
    return 1 + (c_.end_factor - 1) * (static_cast<double>(step) / static_cast<double>(c.total_steps));
  }
  [[nodiscard]] bool reads_total() const override { return true; }

 private:
  Config c_;
};

}  // namespace

extern constinit const ScheduleDef schedules_linear = component<ScheduleDef, LinearDecay, Config, kFields>(
    {.doc = "A straight line from lr to end_factor * lr over the steps after warm-up.", .example = "linear: {end_factor: 0.1}"});

}  // namespace lockstep
