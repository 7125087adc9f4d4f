// Schedules: closed forms of the step, with warm-up in front.
#include <doctest/doctest.h>

#include <cmath>

#include "components.h"
#include "lockstep/optim/schedule.h"
#include "print.h"

using namespace lockstep;
using test::chosen;

namespace {

/// lr of `yaml` at `step`, base 1, 100 steps in all, 10 an epoch.
double lr(std::string_view yaml, std::int64_t step) {
  const auto ref = chosen<ScheduleDef>(yaml);
  return scheduled_lr(*ref.make(), ref.common_as<ScheduleDef>(), 1.0, step, {.total_steps = 100, .steps_per_epoch = 10});
}

}  // namespace

TEST_CASE("warm-up rises linearly and reaches lr at its last step") {
  CHECK(lr("{name: constant, warmup_steps: 4}", 0) == 0.25);
  CHECK(lr("{name: constant, warmup_steps: 4}", 3) == 1);
  CHECK(lr("{name: constant, warmup_steps: 4}", 4) == 1);
  CHECK(lr("{name: constant, warmup_steps: 1}", 0) == 1);
  CHECK(lr("constant", 0) == 1);
}

TEST_CASE("cosine falls from lr to min_factor over the steps after warm-up") {
  CHECK(lr("cosine", 0) == 1);
  CHECK(lr("cosine", 50) == doctest::Approx(0.5).epsilon(1e-15));
  CHECK(lr("{name: cosine, warmup_steps: 20, min_factor: 0.2}", 20) == 1);
  CHECK(lr("{name: cosine, warmup_steps: 20, min_factor: 0.2}", 60) == doctest::Approx(0.6).epsilon(1e-15));
  CHECK(lr("{name: cosine, warmup_steps: 20, min_factor: 0.2}", 100) == 0.2);
  for (std::int64_t s = 0; s < 100; ++s)
    CHECK(lr("cosine", s) == doctest::Approx(0.5 * (1 + std::cos(3.14159265358979323846 * static_cast<double>(s) / 100))).epsilon(1e-14));
}

TEST_CASE("linear and step are what PyTorch's are") {
  CHECK(lr("{name: linear, end_factor: 0.5}", 50) == 0.75);
  CHECK(lr("{name: linear, end_factor: 0.5}", 100) == 0.5);
  CHECK(lr("{name: step, step_size: 2, gamma: 0.5}", 19) == 1);
  CHECK(lr("{name: step, step_size: 2, gamma: 0.5}", 20) == 0.5);
  CHECK(lr("{name: step, step_size: 2, gamma: 0.5}", 60) == 0.125);
  CHECK(lr("{name: step, step_size: 3, gamma: 0.5, unit: steps}", 6) == 0.25);
}

TEST_CASE("only schedules that look at the total make epochs part of the identity") {
  for (const auto* name : {"cosine", "linear"}) CHECK(chosen<ScheduleDef>(name).make()->reads_total());
  CHECK_FALSE(chosen<ScheduleDef>("constant").make()->reads_total());
  CHECK_FALSE(chosen<ScheduleDef>("{name: step, step_size: 1}").make()->reads_total());
}
