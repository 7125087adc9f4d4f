// constant: the learning rate stays as it is (after warm-up).
#include "lockstep/optim/schedule.h"

namespace lockstep {
namespace {

struct Config {};

class Constant final : public Schedule {
 public:
  explicit Constant(const Config&) {}
  [[nodiscard]] double factor(std::int64_t, const Counters&) const override { return 1; }
};

}  // namespace

extern constinit const ScheduleDef schedules_constant = component<ScheduleDef, Constant, Config, kNoFields>(
    {.doc = "The learning rate stays at lr.", .example = "constant: {warmup_steps: 100}"});

}  // namespace lockstep
