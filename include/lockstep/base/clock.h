// Time for people and for measurements; nothing numeric may depend on it.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// Monotonic nanoseconds since an arbitrary start.
std::int64_t monotonic_ns();
// Nanoseconds since 1970-01-01 UTC.
std::int64_t wall_ns();
// "2024-05-01T12:34:56.789Z"
std::string utc_text(std::int64_t wall_ns);
// CPU time of this process, user and system, in nanoseconds.
std::int64_t cpu_ns();

}  // namespace lockstep
