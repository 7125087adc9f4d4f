// Store: runs, segments, metrics, hashes, artifacts and events in runs/lockstep.db. Safe between processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/file.h"
#include "lockstep/track/row_log.h"
#include "lockstep/track/rows.h"

namespace lockstep {

/// What a segment knows of its own work, so far or at its end.
struct SegmentEnd {
  std::int64_t segment = 0, ended_ns = 0, last_step = 0, train_samples = 0, peak_rss_bytes = 0;
  double wall_s = 0, train_s = 0;
  double step_ms_median = std::numeric_limits<double>::quiet_NaN();
  std::optional<int> exit_code{};
};

/// Step 6 of the commit protocol: what becomes true together once the checkpoint file is in place.
struct CheckpointCommit {
  std::int64_t step = 0, epoch = 0;
  std::string state_hash, chain_hash;
  std::span<const ArtifactRow> artifacts{};  // replace rows of equal path
  std::string identity{};                    // non-empty: the digest, now with the data digests
  std::optional<SegmentEnd> segment{};       // so far, in case this process is killed (ended_ns 0)
};

/// Step 9: the end of a run's work, in one transaction.
struct FinishCommit {
  RunStatus status = RunStatus::finished;
  std::string reason{};  // for stopped and failed
  std::int64_t step = 0, epoch = 0;
  std::string state_hash, chain_hash;        // empty: as they are
  std::span<const ArtifactRow> artifacts{};  // the exported model
  std::optional<SegmentEnd> segment{};
};

enum class StoreMode : std::uint8_t {
  create,   // the folder and the database are made when missing
  existing  // for commands that only look: Error{data} when there is no database; works on read-only media
};

/// Every writing method is one `BEGIN IMMEDIATE … COMMIT` with synchronous=FULL; it has happened wholly or not at all,
/// and calls files.note("db:<method>") first. A database that stays locked for 10 s, a full disk or an I/O error is
/// Error{resource}; one that is damaged, forbidden or of a newer schema is Error{data}. Messages name the path.
/// One Store belongs to one thread at a time.
/// The database in a runs directory.
std::string store_path(std::string_view runs_dir);

class Store {
 public:
  /// Opens `<runs_dir>/lockstep.db`, migrating an older schema. `files` must outlive the store.
  static Store open(const std::string& runs_dir, StoreMode mode, FileSystem& files = real_files());
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  [[nodiscard]] const std::string& runs_dir() const;
  /// Things to tell the user once: a database on a network file system.
  [[nodiscard]] const std::vector<std::string>& warnings() const;
  [[nodiscard]] std::int64_t schema_version() const;

  // Runs. -------------------------------------------------------------------------------------------------------
  /// Inserts a run and the metrics it will log. Error{usage} when the id is taken.
  void create_run(const RunRow& run, std::span<const MetricInfo> metrics = {});
  /// Adds or replaces what is known about metrics.
  void declare_metrics(std::string_view run, std::span<const MetricInfo> metrics);
  void set_status(std::string_view run, RunStatus status, std::string_view reason = {});
  /// The canonical config as the run now goes on with it: horizons, nuisances and locations may change at a resume.
  void set_config(std::string_view run, std::string_view config);
  [[nodiscard]] std::optional<RunRow> run(std::string_view id) const;
  /// Newest first. An empty name: all.
  [[nodiscard]] std::vector<RunRow> runs(std::string_view name = {}) const;
  /// A run id, a unique prefix of one, a name (its newest run) or `last`. Error{usage} lists the candidates of an
  /// ambiguous prefix, or names the nearest id or name.
  [[nodiscard]] RunRow find_run(std::string_view word) const;

  // Segments. ---------------------------------------------------------------------------------------------------
  /// A process takes up a run at `row.first_step`: the run is `running`, and metrics, hashes and events beyond that
  /// step are superseded (no query shows them; replaying writes them anew). Gives the segment's id. An open segment
  /// of an earlier process is closed without an exit code.
  std::int64_t begin_segment(const SegmentRow& row);
  void end_segment(const SegmentEnd& end);
  [[nodiscard]] std::vector<SegmentRow> segments(std::string_view run) const;
  [[nodiscard]] RunTotals totals(std::string_view run) const;

  // The commit protocol (STATE.md). --------------------------------------------------------------------------------
  /// Step 1: rows at or before `step`; they leave the log only when they are durable.
  void commit_rows(std::string_view run, std::int64_t segment, std::int64_t step, RowLog& log);
  /// Step 6. Error{mismatch} when this step was hashed before, with another result.
  void commit_checkpoint(std::string_view run, const CheckpointCommit& commit);
  /// First half of step 7: forgets the artifacts with these paths; unlink the files afterwards.
  void drop_artifacts(std::string_view run, std::span<const std::string> paths);
  /// Step 9.
  void finish(std::string_view run, const FinishCommit& commit);
  /// One event at once, outside a commit.
  void add_event(std::string_view run, const EventRow& event);

  // Reading; superseded rows never appear. ----------------------------------------------------------------------------
  /// By name, then step, in the order logged. An empty name: all.
  [[nodiscard]] std::vector<MetricRow> metrics(std::string_view run, std::string_view name = {}) const;
  /// The value logged at that step; nothing if none was.
  [[nodiscard]] std::optional<double> metric(std::string_view run, std::string_view name, std::int64_t step) const;
  [[nodiscard]] std::vector<MetricSummary> summaries(std::string_view run) const;
  [[nodiscard]] std::vector<StateHashRow> state_hashes(std::string_view run) const;
  [[nodiscard]] std::vector<ArtifactRow> artifacts(std::string_view run) const;
  [[nodiscard]] std::vector<EventRow> events(std::string_view run) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Of the library in use, "3.40.1".
std::string sqlite_version();

/// The name of the network file system that `path` lies on ("NFS"); nothing on a local one or when unknown.
std::optional<std::string_view> network_filesystem(const std::string& path);

}  // namespace lockstep
