// Session: this process's hold on one run: its folder, lock, rows and the state to go on from.
#pragma once

#include "lockstep/runtime/train.h"
#include "lockstep/track/environment.h"
#include "runtime/commit.h"

namespace lockstep {

/// What opening found: where to go on, and with what.
struct Opened {
  std::optional<FileLock> lock;
  RunRow row;
  RunPaths paths;
  Json base;                               // identity without data digests
  TrainState train;
  Selection selection;
  Digest expected{}, state{};              // identity and state hash of the checkpoint; zero for a new run
  ChainRecord head = chain_start();
  bool resumed = false;                    // from a checkpoint
  bool complete = false;                   // nothing is left to do
  bool commit_first = false;               // before the first step: a child makes its own what it took from its parent
};

/// Steps at which a run of this config ends.
std::int64_t last_step(const Experiment& e);

/// Whether an evaluation at `step` is still to be made; `last_eval` is the step of the last one.
bool evaluation_due(const Experiment& e, std::int64_t step, std::int64_t last_eval);

/// Marks runs whose process died and inserts rows that are missing, saying so. What other users' runs refuse is only said.
void settle_dead_runs(Store& store, FileSystem& files, Observer& observer);

/// Decides between a new run, a continued one and a child (docs/formats.md, "Resume"), takes the lock, repairs what a
/// crash left and loads the state into `e`. `hasher` is waited for only where a finished run might be shown again. Throws usage when identities differ, data when no checkpoint can be read,
/// mismatch when chain and checkpoint disagree.
Opened open_session(Experiment& e, const LoadedConfig& loaded, const TrainOptions& options, FileSystem& files, Store& store, const GitState& git, ManifestHasher& hasher, Observer& observer);

}  // namespace lockstep
