// RowLog: rows waiting for the next commit. Logging a metric is one push into a vector; no lock, no text.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/track/rows.h"

namespace lockstep {

class Store;

/// Filled by the training thread, drained by Store::commit_rows on the same thread. Only event() may be called from
/// other threads. A failed commit leaves every row in place for the next one.
class RowLog {
 public:
  using MetricId = std::uint32_t;

  /// A number for a metric name, to be asked once and kept; the same name gets the same number.
  MetricId metric_id(std::string_view name);
  /// One value. Steps may not decrease.
  void metric(std::int64_t step, std::int64_t epoch, MetricId metric, double value) {
    rows_.push_back(Row{step, epoch, value, metric});
  }
  /// The state hash at a step (the runtime logs it at each commit and wherever the config asks for more).
  void state_hash(std::int64_t step, std::string hash);
  /// `time_ns` 0: now. Safe from any thread.
  void event(EventRow row);

  /// Rows of every kind that wait.
  [[nodiscard]] std::size_t size() const;
  /// Forgets rows beyond `step` (a rollback).
  void drop_after(std::int64_t step);

 private:
  friend class Store;
  struct Row {
    std::int64_t step, epoch;
    double value;
    MetricId metric;
  };
  std::vector<Row> rows_;
  std::vector<std::string> names_;
  std::vector<StateHashRow> hashes_;
  mutable std::mutex mutex_;  // guards events_
  std::deque<EventRow> events_;
};

}  // namespace lockstep
