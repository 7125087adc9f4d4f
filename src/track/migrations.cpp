// The schema of the run store as a list of steps.
#include "track/migrations.h"

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/base/version.h"

namespace lockstep::track {
namespace {

// Times are nanoseconds of the wall clock, UTC. A NULL in metrics.value is NaN. Superseded rows were written beyond the
// checkpoint from which a later process resumed; replaying wrote them again.
constexpr const char* kFirst = R"sql(
CREATE TABLE runs (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_ns INTEGER NOT NULL,
  identity TEXT NOT NULL,
  config TEXT NOT NULL,
  directory TEXT NOT NULL,
  parent_run TEXT,
  parent_step INTEGER,
  parent_hash TEXT,
  step INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  state_hash TEXT NOT NULL,
  chain_hash TEXT NOT NULL);
CREATE INDEX runs_by_name ON runs (name, created_ns);
CREATE TABLE segments (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (key),
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  started_ns INTEGER NOT NULL,
  ended_ns INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  threads INTEGER NOT NULL,
  workers INTEGER NOT NULL,
  isa TEXT NOT NULL,
  build TEXT NOT NULL,
  lockstep_version TEXT NOT NULL,
  git_commit TEXT NOT NULL,
  git_dirty INTEGER NOT NULL,
  environment TEXT NOT NULL,
  wall_s REAL,
  train_samples INTEGER NOT NULL,
  train_s REAL,
  step_ms_median REAL,
  peak_rss_bytes INTEGER NOT NULL,
  exit_code INTEGER);
CREATE INDEX segments_by_run ON segments (run);
CREATE TABLE metric_info (
  run INTEGER NOT NULL REFERENCES runs (key),
  name TEXT NOT NULL,
  direction TEXT NOT NULL,
  unit TEXT NOT NULL,
  PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE metrics (
  run INTEGER NOT NULL REFERENCES runs (key),
  segment INTEGER NOT NULL,
  step INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL,
  superseded INTEGER NOT NULL DEFAULT 0);
CREATE INDEX metrics_by_name ON metrics (run, name, step) WHERE superseded = 0;
CREATE TABLE state_hashes (
  run INTEGER NOT NULL REFERENCES runs (key),
  step INTEGER NOT NULL,
  hash TEXT NOT NULL,
  superseded INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run, step)) WITHOUT ROWID;
CREATE TABLE artifacts (
  run INTEGER NOT NULL REFERENCES runs (key),
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  step INTEGER NOT NULL,
  hash TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run, path)) WITHOUT ROWID;
CREATE TABLE events (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES runs (key),
  step INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  json TEXT NOT NULL,
  time_ns INTEGER NOT NULL,
  superseded INTEGER NOT NULL DEFAULT 0);
CREATE INDEX events_by_run ON events (run);
CREATE VIEW metric_values AS
  SELECT runs.id AS run, metrics.step, metrics.epoch, metrics.name, metrics.value
  FROM metrics JOIN runs ON runs.key = metrics.run WHERE metrics.superseded = 0;
)sql";

constexpr Migration kMigrations[] = {
    {1, "runs, segments, metrics, state hashes, artifacts, events", kFirst},
};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

std::int64_t schema_version(const Database& db) {
  // One statement, one snapshot: another process may be making the tables right now.
  constexpr std::int64_t kEmpty = 0, kOurs = 1;
  const std::int64_t kind = db.integer(
      "SELECT CASE WHEN count(*) = 0 THEN 0 WHEN sum(type = 'table' AND name = 'schema_version') THEN 1 ELSE 2 END "
      "FROM sqlite_master");
  if (kind == kOurs) return db.integer("SELECT max(version) FROM schema_version");
  if (kind != kEmpty) {
    failf(Category::data,
          "{} is an SQLite database but not a run store (it has no table schema_version). Name another folder with "
          "--runs-dir",
          quote(db.path()));
  }
  return 0;
}

void migrate(const Database& db, std::span<const Migration> steps) {
  const std::int64_t known = steps.back().version;
  std::int64_t have = schema_version(db);
  if (have < known) {
    Transaction transaction(db, true);
    have = schema_version(db);  // another process may have done it while this one waited
    db.exec(
        "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "applied_ns INTEGER NOT NULL, lockstep_version TEXT NOT NULL)");
    for (const Migration& step : steps) {
      if (step.version <= have) continue;
      db.exec(step.sql);
      Statement(db, "INSERT INTO schema_version VALUES (?, ?, ?, ?)")
          .run(step.version, step.name, wall_ns(), version());
    }
    transaction.commit();
  }
  if (have > known) {
    failf(Category::data,
          "the run store {} has schema version {}, but this lockstep {} knows versions up to {}. Use the newer "
          "lockstep that wrote it, or name another folder with --runs-dir",
          quote(db.path()), have, version(), known);
  }
}

}  // namespace lockstep::track
