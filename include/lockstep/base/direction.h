// Direction: whether a smaller or a larger value of a metric is better. A property of the metric, never guessed.
#pragma once

#include <cstdint>

namespace lockstep {

enum class Direction : std::uint8_t { lower, higher, none };

}  // namespace lockstep
