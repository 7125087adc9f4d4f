// What the parts of Store share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/track/store.h"
#include "track/sqlite.h"

namespace lockstep {

struct Store::Impl {
  track::Database db;
  FileSystem* files;
  std::string runs_dir;
  std::vector<std::string> warnings{};

  /// The integer that stands for a run in the other tables; Error{data} when there is no such run.
  [[nodiscard]] std::int64_t key(std::string_view run) const;
  // Inside a transaction.
  void put_artifacts(std::int64_t key, std::span<const ArtifactRow> artifacts) const;
  void put_state_hash(std::int64_t key, std::string_view run, std::int64_t step, const std::string& hash) const;
  void put_segment(const SegmentEnd& end) const;
  void put_event(std::int64_t key, const EventRow& event) const;
  void put_metric_info(std::int64_t key, std::span<const MetricInfo> metrics) const;
};

std::string_view direction_text(Direction direction);
Direction parse_direction(std::string_view word);

}  // namespace lockstep
