// A run, a segment and a few rows for the tests of the store.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "lockstep/track/store.h"

namespace lockstep::test {

inline RunRow sample_run(const std::string& id, const std::string& name, std::int64_t created_ns) {
  RunRow run;
  run.id = id;
  run.name = name;
  run.created_ns = created_ns;
  run.identity = "1d";
  run.config = "seed: 7\n";
  run.directory = "runs/" + id;
  return run;
}

inline const std::string kRunA = "20240501-120000-abcd";
inline const std::string kRunB = "20240501-120001-abce";
inline const std::string kRunC = "20240602-120000-xyz2";

inline SegmentRow sample_segment(const std::string& run, std::int64_t first_step) {
  SegmentRow segment;
  segment.run = run;
  segment.pid = 42;
  segment.host = "box";
  segment.started_ns = 1000 + first_step;
  segment.first_step = first_step;
  segment.threads = 2;
  segment.workers = 1;
  segment.isa = "avx2";
  return segment;
}

// Rows of steps (from, to]: a loss at each, an accuracy at every third.
inline void log_steps(RowLog& log, std::int64_t from, std::int64_t to) {
  const auto loss = log.metric_id("train/loss");
  const auto accuracy = log.metric_id("val/accuracy");
  for (std::int64_t step = from + 1; step <= to; ++step) {
    log.metric(step, step / 4, loss, 1.0 / static_cast<double>(step));
    if (step % 3 == 0) log.metric(step, step / 4, accuracy, 0.5 + 0.01 * static_cast<double>(step % 7));
  }
}

inline CheckpointCommit sample_commit(std::int64_t step, std::vector<ArtifactRow>& artifacts) {
  artifacts.clear();
  ArtifactRow last;
  last.kind = "last";
  last.path = "checkpoints/last.ckpt";
  last.step = step;
  last.hash = "aa" + std::to_string(step);
  last.bytes = 100;
  artifacts.push_back(last);
  CheckpointCommit commit;
  commit.step = step;
  commit.epoch = step / 4;
  commit.state_hash = "aa" + std::to_string(step);
  commit.chain_hash = "cc" + std::to_string(step);
  commit.artifacts = artifacts;
  return commit;
}

// Everything that the API shows of a run's curves and hashes, as text.
inline std::string curves(const Store& store, const std::string& run) {
  std::string out;
  for (const MetricRow& m : store.metrics(run)) {
    out += std::to_string(m.step) + " " + std::to_string(m.epoch) + " " + m.name + " " + std::to_string(m.value) + "\n";
  }
  for (const StateHashRow& h : store.state_hashes(run)) out += std::to_string(h.step) + " " + h.hash + "\n";
  for (const ArtifactRow& a : store.artifacts(run)) out += a.path + " " + std::to_string(a.step) + "\n";
  return out;
}

}  // namespace lockstep::test
