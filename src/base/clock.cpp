// Clocks.
#include "lockstep/base/clock.h"

#include <ctime>

#include <fmt/core.h>

namespace lockstep {

namespace {

std::int64_t read(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

std::int64_t monotonic_ns() { return read(CLOCK_MONOTONIC); }
std::int64_t wall_ns() { return read(CLOCK_REALTIME); }
std::int64_t cpu_ns() { return read(CLOCK_PROCESS_CPUTIME_ID); }

std::string utc_text(std::int64_t wall_ns) {
  std::int64_t ms = wall_ns / 1'000'000;
  if (wall_ns % 1'000'000 < 0) --ms;
  std::int64_t seconds = ms / 1000, rest = ms % 1000;
  if (rest < 0) {
    --seconds;
    rest += 1000;
  }
  const auto at = static_cast<std::time_t>(seconds);
  std::tm t{};
  gmtime_r(&at, &t);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
                     t.tm_hour, t.tm_min, t.tm_sec, rest);
}

}  // namespace lockstep
