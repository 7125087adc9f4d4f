// cosine: half a cosine wave from lr down to min_factor * lr at the last step (Loshchilov and Hutter 2017).
#include "lockstep/base/math.h"
#include "lockstep/optim/schedule.h"

namespace lockstep {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

struct Config {
  double min_factor = 0;
};
constexpr Field kFields[] = {
    field<&Config::min_factor>("min_factor", "Part of lr that is left at the end.").in(0, 1),
};

class Cosine final : public Schedule {
 public:
  explicit Cosine(const Config& c) : c_(c) {}
  [[nodiscard]] double factor(std::int64_t step, const Counters& c) const override {
    if (step >= c.total_steps) return c_.min_factor;
    const double done = static_cast<double>(step) / static_cast<double>(c.total_steps);
    return c_.min_factor + (1 - c_.min_factor) * (0.5 * (1 + ls_cos(kPi * done)));
  }
  [[nodiscard]] bool reads_total() const override { return true; }

 private:
  Config c_;
};

}  // namespace

extern constinit const ScheduleDef schedules_cosine = component<ScheduleDef, Cosine, Config, kFields>(
    {.doc = "Half a cosine wave from lr to min_factor * lr over the steps after warm-up.",
     .example = "cosine: {warmup_steps: 200, min_factor: 0.01}"});

}  // namespace lockstep
