// Store: opening, and the writing half.
#include "lockstep/track/store.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "track/migrations.h"
#include "track/store_impl.h"

namespace lockstep {

using track::Database;
using track::Statement;
using track::Transaction;

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

std::string store_path(std::string_view runs_dir) { return join_path(runs_dir, "lockstep.db"); }

Store Store::open(const std::string& runs_dir, StoreMode mode, FileSystem& files) {
  const Frame frame("while opening the run store");
  static_cast<void>(absolute_path(runs_dir));   // a working directory that is gone is another mistake than a folder without runs
  const std::string path = store_path(runs_dir);
  auto access = Database::Access::create;
  if (mode == StoreMode::create) {
    make_dirs(files, runs_dir);
  } else {
    if (!files.exists(path)) {
      failf(Category::data,
            "there are no runs in {}: it has no lockstep.db. Train something first, or say where the runs are with "
            "--runs-dir (or LOCKSTEP_RUNS)",
            quote(runs_dir));
    }
    const bool writable = ::access(path.c_str(), W_OK) == 0 && ::access(runs_dir.c_str(), W_OK) == 0;
    access = writable ? Database::Access::write : Database::Access::immutable;
  }
  auto impl = std::make_unique<Impl>(Impl{Database(path, access), &files, runs_dir});
  if (access != Database::Access::immutable) {
    impl->db.use_wal();
    impl->db.exec("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
    track::migrate(impl->db, track::migrations());
  } else if (track::schema_version(impl->db) != track::migrations().back().version) {
    failf(Category::data,
          "the run store {} has schema version {}, this lockstep reads version {}, and it may not be written, so it "
          "cannot be brought up to date. Copy the folder to a place where it may",
          quote(path), track::schema_version(impl->db), track::migrations().back().version);
  }
  if (const auto kind = network_filesystem(runs_dir)) {
    impl->warnings.push_back(fmt::format(
        "the run store {} lies on {}, where locks of SQLite are not reliable: keep --runs-dir on a local disk, or do "
        "not train on two machines at once",
        quote(path), *kind));
  }
  return Store(std::move(impl));
}

const std::string& Store::runs_dir() const { return impl_->runs_dir; }
const std::vector<std::string>& Store::warnings() const { return impl_->warnings; }
std::int64_t Store::schema_version() const { return track::schema_version(impl_->db); }

std::int64_t Store::Impl::key(std::string_view run) const {
  Statement query(db, "SELECT key FROM runs WHERE id = ?");
  if (!query.bind(run).row()) {
    // Whoever asks has its row or its folder.
    failf(Category::data,
          "the run store {} has no run {}: it was replaced, or is damaged. Move it away and let `lockstep runs reindex` rebuild "
          "it from the run folders (curves are lost, training is not)",
          quote(db.path()), quote(run));
  }
  return query.integer();
}

void Store::Impl::put_metric_info(std::int64_t key, std::span<const MetricInfo> metrics) const {
  Statement insert(db, "INSERT OR REPLACE INTO metric_info (run, name, direction, unit) VALUES (?, ?, ?, ?)");
  for (const MetricInfo& m : metrics) insert.run(key, m.name, direction_text(m.direction), m.unit);
}

void Store::Impl::put_artifacts(std::int64_t key, std::span<const ArtifactRow> artifacts) const {
  Statement insert(db,
                   "INSERT OR REPLACE INTO artifacts (run, path, kind, step, hash, bytes) VALUES (?, ?, ?, ?, ?, ?)");
  for (const ArtifactRow& a : artifacts) insert.run(key, a.path, a.kind, a.step, a.hash, a.bytes);
}

void Store::Impl::put_state_hash(std::int64_t key, std::string_view run, std::int64_t step,
                                 const std::string& hash) const {
  Statement known(db, "SELECT hash FROM state_hashes WHERE run = ? AND step = ?");
  if (known.bind(key, step).row()) {
    // Superseded or not: the same step of the same run has one hash, or determinism is broken.
    const std::string before = known.text();
    if (before != hash) {
      failf(Category::mismatch,
            "run {}, step {}: the state hashes to {}, but an earlier pass over this step gave {}. Equal runs must give "
            "equal hashes; `lockstep verify {}` finds the step where they part",
            run, step, hash, before, run);
    }
  }
  Statement(db, "INSERT OR REPLACE INTO state_hashes (run, step, hash, superseded) VALUES (?, ?, ?, 0)")
      .run(key, step, hash);
}

void Store::Impl::put_segment(const SegmentEnd& end) const {
  Statement(db,
            "UPDATE segments SET ended_ns = ?, last_step = ?, train_samples = ?, peak_rss_bytes = ?, wall_s = ?, "
            "train_s = ?, step_ms_median = ?, exit_code = ? WHERE key = ?")
      .run(end.ended_ns, end.last_step, end.train_samples, end.peak_rss_bytes, end.wall_s, end.train_s,
           end.step_ms_median, end.exit_code, end.segment);
}

void Store::Impl::put_event(std::int64_t key, const EventRow& event) const {
  Statement(db, "INSERT INTO events (run, step, kind, text, json, time_ns) VALUES (?, ?, ?, ?, ?, ?)")
      .run(key, event.step, event.kind, event.text, event.json, event.time_ns == 0 ? wall_ns() : event.time_ns);
}

void Store::create_run(const RunRow& run, std::span<const MetricInfo> metrics) {
  impl_->files->note("db:create_run");
  const Database& db = impl_->db;
  Transaction transaction(db);
  if (Statement(db, "SELECT 1 FROM runs WHERE id = ?").bind(run.id).row()) {
    failf(Category::usage, "the run store {} already has a run {}", quote(db.path()), quote(run.id));
  }
  std::optional<std::string> parent_run, parent_hash;
  std::optional<std::int64_t> parent_step;
  if (run.parent) {
    parent_run = run.parent->run;
    parent_step = run.parent->step;
    parent_hash = run.parent->hash;
  }
  Statement(db,
            "INSERT INTO runs (id, name, status, reason, created_ns, identity, config, directory, parent_run, "
            "parent_step, parent_hash, step, epoch, state_hash, chain_hash) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(run.id, run.name, text(run.status), run.reason, run.created_ns, run.identity, run.config, run.directory,
           parent_run, parent_step, parent_hash, run.step, run.epoch, run.state_hash, run.chain_hash);
  impl_->put_metric_info(db.last_rowid(), metrics);
  transaction.commit();
}

void Store::declare_metrics(std::string_view run, std::span<const MetricInfo> metrics) {
  impl_->files->note("db:declare_metrics");
  Transaction transaction(impl_->db);
  impl_->put_metric_info(impl_->key(run), metrics);
  transaction.commit();
}

void Store::set_status(std::string_view run, RunStatus status, std::string_view reason) {
  impl_->files->note("db:set_status");
  Transaction transaction(impl_->db);
  Statement(impl_->db, "UPDATE runs SET status = ?, reason = ? WHERE key = ?")
      .run(text(status), reason, impl_->key(run));
  transaction.commit();
}

void Store::set_config(std::string_view run, std::string_view config) {
  impl_->files->note("db:set_config");
  Transaction transaction(impl_->db);
  Statement(impl_->db, "UPDATE runs SET config = ? WHERE key = ?").run(config, impl_->key(run));
  transaction.commit();
}

std::int64_t Store::begin_segment(const SegmentRow& row) {
  impl_->files->note("db:begin_segment");
  const Database& db = impl_->db;
  Transaction transaction(db);
  const std::int64_t key = impl_->key(row.run);
  for (const char* table : {"metrics", "state_hashes", "events"}) {
    Statement(db, fmt::format("UPDATE {} SET superseded = 1 WHERE run = ? AND step > ? AND superseded = 0", table))
        .run(key, row.first_step);
  }
  Statement(db, "UPDATE segments SET ended_ns = started_ns + CAST(wall_s * 1e9 AS INTEGER) WHERE run = ? AND ended_ns = 0").run(key);
  Statement(db, "UPDATE runs SET status = 'running', reason = '' WHERE key = ?").run(key);
  Statement(db,
            "INSERT INTO segments (run, pid, host, started_ns, ended_ns, first_step, last_step, threads, workers, isa, "
            "build, lockstep_version, git_commit, git_dirty, environment, wall_s, train_samples, train_s, "
            "step_ms_median, peak_rss_bytes, exit_code) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(key, row.pid, row.host, row.started_ns, row.ended_ns, row.first_step, row.last_step, row.threads,
           row.workers, row.isa, row.build, row.lockstep_version, row.git_commit, row.git_dirty, row.environment,
           row.wall_s, row.train_samples, row.train_s, row.step_ms_median, row.peak_rss_bytes, row.exit_code);
  const std::int64_t segment = db.last_rowid();
  transaction.commit();
  return segment;
}

void Store::end_segment(const SegmentEnd& end) {
  impl_->files->note("db:end_segment");
  Transaction transaction(impl_->db);
  impl_->put_segment(end);
  transaction.commit();
}

void Store::commit_rows(std::string_view run, std::int64_t segment, std::int64_t step, RowLog& log) {
  const Frame frame("while writing metric rows");
  impl_->files->note("db:commit_rows");
  const Database& db = impl_->db;
  // Worker threads may go on adding events; those that are there now are the first `count`.
  std::vector<EventRow> events;
  {
    const std::lock_guard lock(log.mutex_);
    for (const EventRow& e : log.events_) {
      if (e.step <= step) events.push_back(e);
    }
  }
  {
    Transaction transaction(db);
    const std::int64_t key = impl_->key(run);
    Statement insert(db, "INSERT INTO metrics (run, segment, step, epoch, name, value) VALUES (?, ?, ?, ?, ?, ?)");
    for (const RowLog::Row& row : log.rows_) {
      if (row.step <= step) insert.run(key, segment, row.step, row.epoch, log.names_[row.metric], row.value);
    }
    for (const StateHashRow& row : log.hashes_) {
      if (row.step <= step) impl_->put_state_hash(key, run, row.step, row.hash);
    }
    for (const EventRow& event : events) impl_->put_event(key, event);
    transaction.commit();
  }
  std::erase_if(log.rows_, [step](const RowLog::Row& row) { return row.step <= step; });
  std::erase_if(log.hashes_, [step](const StateHashRow& row) { return row.step <= step; });
  const std::lock_guard lock(log.mutex_);
  std::size_t left = events.size();
  std::erase_if(log.events_, [&](const EventRow& e) { return left > 0 && e.step <= step && left-- > 0; });
}

void Store::commit_checkpoint(std::string_view run, const CheckpointCommit& commit) {
  const Frame frame("while recording a checkpoint");
  impl_->files->note("db:commit_checkpoint");
  const Database& db = impl_->db;
  Transaction transaction(db);
  const std::int64_t key = impl_->key(run);
  impl_->put_state_hash(key, run, commit.step, commit.state_hash);
  impl_->put_artifacts(key, commit.artifacts);
  Statement(db,
            "UPDATE runs SET step = ?, epoch = ?, state_hash = ?, chain_hash = ?, "
            "identity = CASE WHEN ?5 = '' THEN identity ELSE ?5 END WHERE key = ?6")
      .run(commit.step, commit.epoch, commit.state_hash, commit.chain_hash, commit.identity, key);
  if (commit.segment) impl_->put_segment(*commit.segment);
  transaction.commit();
}

void Store::drop_artifacts(std::string_view run, std::span<const std::string> paths) {
  impl_->files->note("db:drop_artifacts");
  Transaction transaction(impl_->db);
  const std::int64_t key = impl_->key(run);
  Statement drop(impl_->db, "DELETE FROM artifacts WHERE run = ? AND path = ?");
  for (const std::string& path : paths) drop.run(key, path);
  transaction.commit();
}

void Store::finish(std::string_view run, const FinishCommit& commit) {
  const Frame frame("while recording the end of the run");
  impl_->files->note("db:finish");
  const Database& db = impl_->db;
  Transaction transaction(db);
  const std::int64_t key = impl_->key(run);
  if (!commit.state_hash.empty()) impl_->put_state_hash(key, run, commit.step, commit.state_hash);
  impl_->put_artifacts(key, commit.artifacts);
  Statement(db,
            "UPDATE runs SET status = ?1, reason = ?2, step = ?3, epoch = ?4, "
            "state_hash = CASE WHEN ?5 = '' THEN state_hash ELSE ?5 END, "
            "chain_hash = CASE WHEN ?6 = '' THEN chain_hash ELSE ?6 END WHERE key = ?7")
      .run(text(commit.status), commit.reason, commit.step, commit.epoch, commit.state_hash, commit.chain_hash, key);
  if (commit.segment) impl_->put_segment(*commit.segment);
  transaction.commit();
}

void Store::add_event(std::string_view run, const EventRow& event) {
  impl_->files->note("db:add_event");
  Transaction transaction(impl_->db);
  impl_->put_event(impl_->key(run), event);
  transaction.commit();
}

}  // namespace lockstep
