// Words for run statuses and metric directions.
#include "lockstep/track/rows.h"

#include "track/store_impl.h"

namespace lockstep {
namespace {
constexpr std::string_view kStatuses[] = {"running", "finished", "stopped", "failed", "interrupted"};
constexpr std::string_view kDirections[] = {"lower", "higher", "none"};
}  // namespace

std::string_view text(RunStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::optional<RunStatus> parse_run_status(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kStatuses); ++i) {
    if (kStatuses[i] == word) return static_cast<RunStatus>(i);
  }
  return std::nullopt;
}

std::string_view direction_text(Direction direction) { return kDirections[static_cast<std::size_t>(direction)]; }

Direction parse_direction(std::string_view word) {
  if (word == "lower") return Direction::lower;
  return word == "higher" ? Direction::higher : Direction::none;
}

}  // namespace lockstep
