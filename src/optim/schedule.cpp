// Warm-up: the part every schedule shares.
#include "lockstep/optim/schedule.h"

namespace lockstep {

double scheduled_lr(const Schedule& s, const ScheduleCommon& common, double base, std::int64_t step, const Counters& c) {
  const std::int64_t warmup = common.warmup_steps;
  if (step < warmup) return base * (static_cast<double>(step + 1) / static_cast<double>(warmup));
  Counters after = c;
  after.total_steps = std::max<std::int64_t>(c.total_steps - warmup, 0);
  return base * s.factor(step - warmup, after);
}

}  // namespace lockstep
