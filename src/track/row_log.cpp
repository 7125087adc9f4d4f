// Rows waiting for the next commit.
#include "lockstep/track/row_log.h"

#include <algorithm>

#include "lockstep/base/clock.h"

namespace lockstep {

RowLog::MetricId RowLog::metric_id(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) {
    names_.emplace_back(name);
    return static_cast<MetricId>(names_.size() - 1);
  }
  return static_cast<MetricId>(found - names_.begin());
}

void RowLog::state_hash(std::int64_t step, std::string hash) {
  hashes_.push_back(StateHashRow{step, std::move(hash)});
}

void RowLog::event(EventRow row) {
  if (row.time_ns == 0) row.time_ns = wall_ns();
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(row));
}

std::size_t RowLog::size() const {
  const std::lock_guard lock(mutex_);
  return rows_.size() + hashes_.size() + events_.size();
}

void RowLog::drop_after(std::int64_t step) {
  std::erase_if(rows_, [step](const Row& row) { return row.step > step; });
  std::erase_if(hashes_, [step](const StateHashRow& row) { return row.step > step; });
  const std::lock_guard lock(mutex_);
  std::erase_if(events_, [step](const EventRow& row) { return row.step > step; });
}

}  // namespace lockstep
