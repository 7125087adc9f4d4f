// The rows of the run store as plain structs. Hashes are lower-case hex digits; an empty text is "not known (yet)".
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/direction.h"

namespace lockstep {

/// `interrupted`: the process died without a final commit; the run can be resumed. `stopped`: it ended early on purpose,
/// after a commit. `finished` is written by the final commit only.
enum class RunStatus : std::uint8_t { running, finished, stopped, failed, interrupted };
std::string_view text(RunStatus status);
/// The inverse of text(); nothing for any other word.
std::optional<RunStatus> parse_run_status(std::string_view word);

/// What a run says about one of its metrics before it logs it.
struct MetricInfo {
  std::string name;  // "val/accuracy"
  Direction direction = Direction::none;
  std::string unit{};
};

/// Where a forked run comes from: its step 0 is that run's state at `step`.
struct ParentRef {
  std::string run;
  std::int64_t step = 0;
  std::string hash;
};

struct RunRow {
  std::string id, name;
  RunStatus status = RunStatus::running;
  std::int64_t created_ns = 0;      // wall clock, UTC
  std::string identity{};           // digest of the identity, without data digests until the first commit
  std::string config{};             // canonical config, YAML
  std::string directory{};          // absolute or relative to the runs directory's parent, as given
  std::optional<ParentRef> parent{};
  std::int64_t step = 0, epoch = 0;  // of the last commit
  std::string state_hash{}, chain_hash{};
  std::string reason{};              // why it is stopped, failed or interrupted
};

/// One process's work on a run.
struct SegmentRow {
  std::int64_t id = 0;  // given by the store
  std::string run;
  std::int64_t pid = 0;
  std::string host{};
  std::int64_t started_ns = 0, ended_ns = 0;  // wall clock; 0: not ended
  std::int64_t first_step = 0, last_step = 0;
  int threads = 0, workers = 0;
  std::string isa{}, build{}, lockstep_version{};
  std::string git_commit{};
  bool git_dirty = false;
  std::string environment{};          // the whole environment, JSON
  double wall_s = 0;                  // training and evaluation, without start-up
  std::int64_t train_samples = 0;     // samples trained on in this segment
  double train_s = 0;                 // the part of wall_s spent training
  double step_ms_median = std::numeric_limits<double>::quiet_NaN();
  std::int64_t peak_rss_bytes = 0;
  std::optional<int> exit_code{};     // nothing: it did not end by itself (or still runs)
};

struct MetricRow {
  std::int64_t step = 0, epoch = 0;
  std::string name;
  double value = 0;
};

struct StateHashRow {
  std::int64_t step = 0;
  std::string hash;
};

/// A file that the run recorded; nothing else is ever deleted.
struct ArtifactRow {
  std::string kind;  // "last", "best", "kept", "model", ...
  std::string path;  // relative to the run's directory
  std::int64_t step = 0;
  std::string hash{};
  std::int64_t bytes = 0;
};

struct EventRow {
  std::int64_t step = 0;
  std::string kind;  // "checkpoint damaged", "resume", ...
  std::string text;
  std::string json{};  // details, or empty
  std::int64_t time_ns = 0;
};

/// What `runs show` prints of a metric. `last` and `best` may be NaN; `best` follows the metric's direction, and is
/// the last value where it has none. NaN is never best unless there is nothing else.
struct MetricSummary {
  std::string name;
  Direction direction = Direction::none;
  double last = 0, best = 0;
  std::int64_t last_step = 0, best_step = 0;
};

/// Sums over the segments of a run.
struct RunTotals {
  double wall_s = 0;
  double train_samples_per_s = std::numeric_limits<double>::quiet_NaN();
  double step_ms_median = std::numeric_limits<double>::quiet_NaN();  // of the longest segment
  std::int64_t peak_rss_bytes = 0;                                   // largest of any segment
};

}  // namespace lockstep
