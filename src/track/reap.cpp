// Putting the store right after processes died, and rebuilding it from the folders.
#include <algorithm>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/track/run_dir.h"

namespace lockstep {
namespace {

// Everything a run writes before its run.json. A folder with nothing else has no results.
bool early_file(std::string_view name) {
  return name == "lock" || name == "config.yaml" || name == "config.yaml.tmp" || name == "run.json.tmp";
}

// An artifact row for each checkpoint whose header can be read, and for the exported model.
std::vector<ArtifactRow> find_artifacts(FileSystem& files, const RunPaths& paths, const CheckpointProbe& probe) {
  std::vector<ArtifactRow> out;
  const auto add = [&](std::string kind, const std::string& path) {
    const auto stat = files.stat(path);
    const auto info = stat ? probe(path) : std::nullopt;
    if (!info) return;
    ArtifactRow row;
    row.kind = std::move(kind);
    row.path = path.substr(paths.dir.size() + 1);
    row.step = info->step;
    row.hash = info->state_hash;
    row.bytes = static_cast<std::int64_t>(stat->size);
    out.push_back(std::move(row));
  };
  add("model", paths.model());
  if (!files.exists(paths.checkpoints())) return out;
  for (const std::string& name : files.list(paths.checkpoints())) {
    if (!name.ends_with(".ckpt")) continue;
    add(name == "last.ckpt" ? "last" : name == "best.ckpt" ? "best" : "kept", paths.checkpoints() + "/" + name);
  }
  return out;
}

// The newest state that the files of a run prove.
std::optional<CheckpointFacts> newest_checkpoint(FileSystem& files, const RunPaths& paths,
                                                const CheckpointProbe& probe) {
  if (files.exists(paths.last())) {
    if (auto info = probe(paths.last())) return info;
  }
  std::optional<CheckpointFacts> best;
  if (!files.exists(paths.checkpoints())) return best;
  for (const std::string& name : files.list(paths.checkpoints())) {
    if (!name.ends_with(".ckpt")) continue;
    auto info = probe(paths.checkpoints() + "/" + name);
    if (info && (!best || info->step > best->step)) best = std::move(info);
  }
  return best;
}

class Reaper {
 public:
  Reaper(Store& store, FileSystem& files, const CheckpointProbe& probe)
      : store_(store), files_(files), probe_(probe) {}

  void folders(bool remove_empty) {
    for (const std::string& name : files_.list(store_.runs_dir())) {
      if (!is_run_id(name)) continue;
      const RunPaths paths{join_path(store_.runs_dir(), name)};
      const auto stat = files_.stat(paths.dir);
      if (!stat || !stat->directory || store_.run(name)) continue;
      if (files_.exists(paths.record())) {
        insert(name, paths);
      } else if (remove_empty) {
        remove(name, paths);
      }
    }
  }

  void running_rows() {
    for (const RunRow& run : store_.runs()) {
      if (run.status != RunStatus::running) continue;
      const RunPaths paths{join_path(store_.runs_dir(), run.id)};
      if (!files_.exists(paths.dir)) {
        store_.set_status(run.id, RunStatus::failed, "its folder is gone");
        report(run.id, "failed", fmt::format("its folder {} is gone", quote(paths.dir)));
        continue;
      }
      const auto lock = FileLock::try_lock(paths.lock());
      if (!lock) continue;
      const auto now = store_.run(run.id);  // it may have ended between the query and the lock
      if (!now || now->status != RunStatus::running) continue;
      settle(*now, paths);
    }
  }

  std::vector<ReapResult> results;

 private:
  void report(std::string_view run, std::string action, std::string text) {
    results.push_back(ReapResult{std::string(run), std::move(action), std::move(text)});
  }

  // A run whose process died: the files say how far it came.
  void settle(const RunRow& run, const RunPaths& paths) {
    const auto info = newest_checkpoint(files_, paths, probe_);
    if (info && info->step > run.step) {
      const auto artifacts = find_artifacts(files_, paths, probe_);
      CheckpointCommit commit;
      commit.step = info->step;
      commit.epoch = std::max(info->epoch, run.epoch);  // headers may not tell the epoch
      commit.state_hash = info->state_hash;
      commit.chain_hash = info->chain_hash;
      commit.artifacts = artifacts;
      store_.commit_checkpoint(run.id, commit);
    }
    store_.set_status(run.id, RunStatus::interrupted, "its process ended without a final commit");
    report(run.id, "interrupted",
           info ? fmt::format("its process died; a checkpoint of step {} is there to resume from", info->step)
                : std::string("its process died before the first checkpoint; it resumes from step 0"));
  }

  // A folder whose row is missing.
  void insert(const std::string& name, const RunPaths& paths) {
    const auto lock = FileLock::try_lock(paths.lock());
    if (!lock || store_.run(name)) return;  // being created right now, or done by another process
    RunRow run;
    try {
      run = run_from_record(Json::parse(files_.read_file(paths.record()), paths.record()));
    } catch (const Error& error) {
      if (error.category != Category::data) throw;
      report(name, "kept", fmt::format("{} cannot be read: {}", quote(paths.record()), error.message));
      return;
    }
    if (run.id != name) {
      report(name, "kept", fmt::format("{} is about run {}: the folder was renamed or copied", quote(paths.record()),
                                       quote(run.id)));
      return;
    }
    if (files_.exists(paths.config())) run.config = files_.read_file(paths.config());
    run.directory = paths.dir;
    const auto info = newest_checkpoint(files_, paths, probe_);
    const auto artifacts = find_artifacts(files_, paths, probe_);
    // The model is exported just before the final commit, so a model of the newest step knows how the run ended.
    const auto model = files_.exists(paths.model()) ? probe_(paths.model()) : std::nullopt;
    const bool ended = info && model && model->status && model->step == info->step;
    run.status = ended ? *model->status : RunStatus::interrupted;
    run.reason = run.status == RunStatus::finished ? "" : "found on disk without a row in the run store";
    store_.create_run(run);
    if (info) {
      CheckpointCommit commit;
      commit.step = info->step;
      commit.epoch = info->epoch;
      commit.state_hash = info->state_hash;
      commit.chain_hash = info->chain_hash;
      commit.artifacts = artifacts;
      store_.commit_checkpoint(name, commit);
    }
    report(name, "inserted",
           info ? fmt::format("the folder had no row; its newest checkpoint is of step {}", info->step)
                : std::string("the folder had no row and holds no checkpoint"));
  }

  // A folder that never got its run.json: its process died at once.
  void remove(const std::string& name, const RunPaths& paths) {
    const std::vector<std::string> names = files_.list(paths.dir);
    const auto foreign = std::ranges::find_if_not(names, early_file);
    if (foreign != names.end()) {
      report(name, "kept",
             fmt::format("it has no run.json, but holds {}, which is not ours to delete", quote(*foreign)));
      return;
    }
    if (!names.empty()) {
      // The lock file is removed last, while it is held, so that a process just starting notices.
      const auto lock = FileLock::try_lock(paths.lock());
      if (!lock) return;
      for (const std::string& file : names) {
        if (file != "lock") files_.unlink(join_path(paths.dir, file));
      }
      files_.unlink(paths.lock());
      files_.unlink(paths.dir);
    } else {
      files_.unlink(paths.dir);
    }
    report(name, "removed", "its process died before writing anything");
  }

  Store& store_;
  FileSystem& files_;
  const CheckpointProbe& probe_;
};

}  // namespace

std::vector<ReapResult> reap(Store& store, FileSystem& files, const CheckpointProbe& probe) {
  const Frame frame("while reaping dead runs");
  Reaper reaper(store, files, probe);
  reaper.folders(true);
  reaper.running_rows();
  return std::move(reaper.results);
}

std::vector<ReapResult> reindex(Store& store, FileSystem& files, const CheckpointProbe& probe) {
  const Frame frame("while rebuilding the run store from the folders");
  Reaper reaper(store, files, probe);
  reaper.folders(false);
  return std::move(reaper.results);
}

}  // namespace lockstep
