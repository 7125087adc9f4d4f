// A run's folder: its id, its files, its lock, and putting the store right after processes died.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/file.h"
#include "lockstep/base/json.h"
#include "lockstep/track/rows.h"
#include "lockstep/track/store.h"

namespace lockstep {

/// Where the files of one run are.
struct RunPaths {
  std::string dir;
  [[nodiscard]] std::string config() const { return dir + "/config.yaml"; }
  [[nodiscard]] std::string record() const { return dir + "/run.json"; }
  [[nodiscard]] std::string chain() const { return dir + "/chain.bin"; }
  [[nodiscard]] std::string checkpoints() const { return dir + "/checkpoints"; }
  [[nodiscard]] std::string last() const { return dir + "/checkpoints/last.ckpt"; }
  [[nodiscard]] std::string best() const { return dir + "/checkpoints/best.ckpt"; }
  /// A retained checkpoint: `checkpoints/step-000001200.ckpt`.
  [[nodiscard]] std::string kept(std::int64_t step) const;
  [[nodiscard]] std::string model() const { return dir + "/model.safetensors"; }
  [[nodiscard]] std::string lock() const { return dir + "/lock"; }
};

/// `20240501-123456-k3mq`: UTC time and four base32 letters, of which at least one is no digit.
std::string make_run_id(std::int64_t wall_ns, std::uint32_t entropy);
/// Whether `word` has that form.
bool is_run_id(std::string_view word);

/// A new run folder, owned by this process as long as `lock` lives.
struct NewRun {
  std::string id;
  RunPaths paths;
  FileLock lock;
};
/// Makes `<runs_dir>/<id>` (which must not exist; another id is tried) and takes its lock.
NewRun create_run_dir(FileSystem& files, const std::string& runs_dir);
/// Takes the lock of an existing run. Error{usage} while another process holds it, with the pid and host of `segment`
/// when given.
FileLock lock_run(const RunPaths& paths, const SegmentRow* segment = nullptr);

/// run.json: everything that is needed to put the run's row back, plus identity, data manifests and environment.
Json run_record(const RunRow& run, Json identity, Json data, Json environment);
/// The row that a run.json describes; Error{data} when it is none. `config` is not in it.
RunRow run_from_record(const Json& record);
/// The run.json of run `id`. Error{data} when it, or the whole folder, is gone: without it nobody can say what was trained.
Json read_run_record(FileSystem& files, const RunPaths& paths, std::string_view id);
/// The path of its config.yaml; Error{data} as above.
std::string config_of(FileSystem& files, const RunPaths& paths, std::string_view id);

/// What a checkpoint (or exported model) says of itself.
struct CheckpointFacts {
  std::int64_t step = 0, epoch = 0;  // epoch 0: it does not say
  std::string state_hash, chain_hash;
  std::optional<RunStatus> status{};  // an exported model: what the run was when it was written
};
/// Reads what a file says of itself; nothing when it is damaged or does not say. Handed in, since this layer knows no formats.
using CheckpointProbe = std::function<std::optional<CheckpointFacts>(const std::string& path)>;

struct ReapResult {
  std::string run;
  std::string action;  // "interrupted", "removed", "inserted", "kept"
  std::string text;    // one sentence
};
/// Puts right what dead processes left, holding each run's lock meanwhile: a run marked running whose lock is free
/// becomes interrupted, at the step its checkpoint proves; a folder without a row gets one; an empty folder is removed.
/// Runs at work are left alone. Nothing is deleted but folders that hold none of a run's results.
std::vector<ReapResult> reap(Store& store, FileSystem& files, const CheckpointProbe& probe);
/// Inserts a row for each run folder that has none, for a database that was lost. Curves are not in the folders.
std::vector<ReapResult> reindex(Store& store, FileSystem& files, const CheckpointProbe& probe);

}  // namespace lockstep
