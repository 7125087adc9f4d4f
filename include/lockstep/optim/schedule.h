// Schedule: the learning rate as a closed-form function of the optimizer step (NUMERICS A13).
#pragma once

#include "lockstep/component/component.h"

namespace lockstep {

/// What a schedule may read besides the step. total_steps = epochs * steps_per_epoch (or train.steps), never train.max_steps.
struct Counters {
  std::int64_t total_steps = 0, steps_per_epoch = 1;
};
/// Keys every schedule has.
struct ScheduleCommon {
  std::int64_t warmup_steps = 0;                        // linear from lr/warmup_steps to lr over the first steps
};
inline constexpr Field kScheduleCommonFields[] = {
    field<&ScheduleCommon::warmup_steps>("warmup_steps", "Optimizer steps over which lr grows linearly: lr/warmup_steps at the first, lr at the last.")
        .in(0, 9007199254740991.0),
};
constexpr std::span<const Field> fields_of(const ScheduleCommon*) { return kScheduleCommonFields; }

class Schedule {
 public:
  static constexpr std::string_view kKind = "schedules";
  using Common = ScheduleCommon;
  virtual ~Schedule() = default;
  /// Factor on the base lr at `step` in [0, total_steps), counted after warm-up: both have warmup_steps taken off.
  [[nodiscard]] virtual double factor(std::int64_t step, const Counters& c) const = 0;
  /// True when factor() reads total_steps: then epochs are part of the identity.
  [[nodiscard]] virtual bool reads_total() const { return false; }
};
using ScheduleDef = ComponentOf<Schedule>;

/// lr at optimizer step `step` (0-based): base * (step + 1) / warmup_steps during warm-up, then base * factor.
double scheduled_lr(const Schedule& s, const ScheduleCommon& common, double base, std::int64_t step, const Counters& c);

}  // namespace lockstep
