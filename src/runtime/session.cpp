// Opening a run: which one, from where, and what a crash left to put right.
#include "runtime/session.h"

#include <filesystem>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/component/canonical.h"
#include "lockstep/runtime/probe.h"
#include "lockstep/state/hash.h"
#include "lockstep/state/save_load.h"

namespace lockstep {
namespace {

struct Opener {
  Experiment& e;
  const LoadedConfig& loaded;
  const TrainOptions& options;
  FileSystem& files;
  Store& store;
  const GitState& git;
  ManifestHasher& hasher;
  Observer& observer;

  Opened create(const std::optional<ParentRef>& parent, const Json& parent_identity);
  Opened resume(RunRow row);
  Opened fork(const RunRow& from);
  void inherit(Opened& child, const RunRow& from, const Checkpoint& c, const std::string& source);
  void begin_again(Opened& out);
  void load(Opened& out, const Checkpoint& c, const std::string& source);
  void record_position(Opened& out, const CheckpointInfo& info, bool replaced);
  void take_config(Opened& out);
  bool model_stands(const Opened& out);
  ChainRecord chain_head(const std::string& chain, const CheckpointInfo& info, const std::string& source) const;
  bool data_changed(const RunPaths& paths, const Json& base) const;
  void make_checkpoints_folder(const RunPaths& paths);
  std::vector<MetricInfo> metric_infos() const;
  Opened automatic();
  Checkpoint load_checkpoint(const RunRow& row, const RunPaths& paths, std::string& source);
  void tidy(const RunRow& row, const RunPaths& paths, const Selection& selection);
};

RunPaths paths_of(const Store& store, const RunRow& row) { return {join_path(store.runs_dir(), row.id)}; }

Opened Opener::create(const std::optional<ParentRef>& parent, const Json& parent_identity) {
  NewRun made = create_run_dir(files, options.runs_dir);
  Opened out;
  out.base = base_identity(e, parent_identity);
  out.row.id = made.id;
  out.row.name = e.config.name;
  out.row.created_ns = wall_ns();
  out.row.identity = identity_digest(out.base);
  out.row.config = canonical_text(canonical(e.config));
  out.row.directory = made.paths.dir;
  out.row.parent = parent;
  out.paths = made.paths;
  out.lock = std::move(made.lock);
  atomic_write(files, out.paths.config(), std::string_view(out.row.config));
  atomic_write(files, out.paths.record(), std::string_view(run_record(out.row, out.base, data_manifests(e), environment_json(capture_environment(), git)).dump(2) + "\n"));
  make_checkpoints_folder(out.paths);   // after run.json: what lies in a folder without one is no result
  store.create_run(out.row, metric_infos());
  return out;
}

void Opener::make_checkpoints_folder(const RunPaths& paths) {
  if (files.mkdir(paths.checkpoints())) files.sync_dir(paths.dir);
}

std::vector<MetricInfo> Opener::metric_infos() const {
  std::vector<MetricInfo> out = {{"train/loss", Direction::lower}, {"train/lr", Direction::none}, {"train/grad_norm", Direction::none}};
  for (const auto& name : e.metric_names()) out.push_back({name, e.direction(name)});
  return out;
}

/// The last checkpoint, or, when it is damaged, the newest retained one.
Checkpoint Opener::load_checkpoint(const RunRow& row, const RunPaths& paths, std::string& source) {
  source = paths.last();
  try {
    return read_checkpoint(files, source);
  } catch (const Error& damaged) {
    if (damaged.category != Category::data) throw;
    auto artifacts = store.artifacts(row.id);
    std::ranges::sort(artifacts, std::ranges::greater{}, &ArtifactRow::step);
    for (const auto& a : artifacts) {
      if (a.kind != "kept" && a.kind != "best") continue;
      source = join_path(paths.dir, a.path);
      try {
        Checkpoint c = read_checkpoint(files, source);
        store.add_event(row.id, {c.info.step, "checkpoint damaged", damaged.message});
        observer.said(fmt::format("{}\n  continuing from {} (step {})", damaged.message, source, c.info.step));
        return c;
      } catch (const Error& e2) {
        if (e2.category != Category::data) throw;
      }
    }
    failf(Category::data, "{}; no other checkpoint of run {} can be read. Nothing was deleted; start again with --new", damaged.message, row.id);
  }
}

/// Files of our own name patterns that no row and no checkpoint knows; nothing else is ever deleted.
void Opener::tidy(const RunRow& row, const RunPaths& paths, const Selection& selection) {
  if (files.exists(paths.model() + ".tmp")) files.unlink(paths.model() + ".tmp");
  const auto artifacts = store.artifacts(row.id);
  for (const auto& name : files.list(paths.checkpoints())) {
    const std::string path = "checkpoints/" + name;
    const bool temporary = name.ends_with(".ckpt.tmp");
    const bool retained = name.starts_with("step-") && name.ends_with(".ckpt");
    const bool known = std::ranges::any_of(artifacts, [&](const ArtifactRow& a) { return a.path == path; }) ||
                       std::ranges::any_of(selection.kept, [&](std::int64_t step) { return file_name(paths.kept(step)) == name; });
    if (temporary || (retained && !known)) files.unlink(join_path(paths.dir, path));
  }
}

/// A run that died before its first commit: from step 0, or, a child, from where its parent was.
void Opener::begin_again(Opened& out) {
  tidy(out.row, out.paths, {});
  restore_chain(files, out.paths.chain(), 0);
  if (!out.row.parent) return;
  const ParentRef& parent = *out.row.parent;
  const auto from = store.run(parent.run);
  for (const auto& a : from ? store.artifacts(parent.run) : std::vector<ArtifactRow>{}) {
    if (a.kind == "model" || a.step != parent.step || a.hash != parent.hash) continue;
    const std::string source = join_path(paths_of(store, *from).dir, a.path);
    std::optional<Checkpoint> c;
    try {
      c = read_checkpoint(files, source);
    } catch (const Error& broken) {   // gone or damaged: another one may hold the step
      if (broken.category != Category::data) throw;
    }
    if (c && c->info.step == parent.step && hex(c->info.state_hash) == parent.hash) return inherit(out, *from, *c, source);
  }
  failf(Category::data, "run {} is a child of run {} at step {} and died before its first commit, and the parent has no checkpoint of that step any more; make a new child with --resume={} --fork",
        out.row.id, parent.run, parent.step, parent.run);
}

/// The record of a checkpoint's step in its run's chain: both must tell the same story.
ChainRecord Opener::chain_head(const std::string& chain, const CheckpointInfo& info, const std::string& source) const {
  const auto steps = chain_steps(files, chain);
  if (steps.value_or(0) < info.step)
    failf(Category::mismatch, "{} ends at step {}, but the checkpoint {} is of step {}: the chain must reach every checkpoint. One of the files was changed from outside; start again with --new", chain, steps.value_or(0), source, info.step);
  if (steps) check_chain(files, chain);
  const ChainRecord head = info.step == 0 ? chain_start() : read_chain(files, chain, info.step);
  if (head.h != info.chain)
    failf(Category::mismatch, "record {} of {} has the hash {}, but the checkpoint {} says {}: they belong to different runs. Start again with --new", info.step, chain, hex(head.h).substr(0, 16), source, hex(info.chain).substr(0, 16));
  return head;
}

/// The state goes into the experiment; the chain is cut back to it.
void Opener::load(Opened& out, const Checkpoint& c, const std::string& source) {
  out.head = chain_head(out.paths.chain(), c.info, source);
  restore_chain(files, out.paths.chain(), c.info.step);

  StateLoader loader(c, source);
  e.visit(loader);
  out.train.state(loader);
  loader.finish();
  out.state = state_hash(state_entries(e)).root;
  if (out.state != c.info.state_hash)
    failf(Category::mismatch, "{} says its state hash is {}, but what was loaded hashes to {}; the file was made by a broken build. Start again with --new", source, hex(c.info.state_hash).substr(0, 16), hex(out.state).substr(0, 16));
  out.expected = c.info.identity;
  out.resumed = true;
}

/// The files win over the database: it learns the checkpoint's step and the files that came with it.
void Opener::record_position(Opened& out, const CheckpointInfo& info, bool replaced) {
  if (out.row.step == info.step && !replaced) return;
  std::vector<ArtifactRow> artifacts;
  const auto add = [&](std::string kind, const std::string& path) {
    if (const auto stat = files.stat(path))
      artifacts.push_back({std::move(kind), path.substr(out.paths.dir.size() + 1), info.step, hex(info.state_hash), static_cast<std::int64_t>(stat->size)});
  };
  add("last", out.paths.last());
  if (!replaced) {
    if (out.selection.best && out.selection.best_step == info.step) add("best", out.paths.best());
    if (std::ranges::find(out.selection.kept, info.step) != out.selection.kept.end()) add("kept", out.paths.kept(info.step));
  }
  CheckpointCommit commit;
  commit.step = info.step;
  commit.epoch = info.epoch;
  commit.state_hash = hex(info.state_hash);
  commit.chain_hash = hex(info.chain);
  commit.artifacts = artifacts;
  commit.identity = hex(info.identity);
  store.commit_checkpoint(out.row.id, commit);
}

/// Horizons, nuisances and locations may change at any resume: config.yaml says how the run now goes on, and an event
/// what its horizon was.
void Opener::take_config(Opened& out) {
  const std::string now = canonical_text(canonical(e.config)), path = out.paths.config();
  if (out.row.config == now && files.exists(path) && files.read_file(path) == now) return;
  std::string changes;
  try {
    for (const auto& d : difference(leaves(load_config(path, {}).config), leaves(e.config)))
      if (d.role == Role::horizon) changes += fmt::format("{}{}: {} -> {}", changes.empty() ? "" : ", ", d.path, d.a, d.b);
  } catch (const Error&) {
    // Damaged or gone: what it said of the horizon is lost, and the file is written anew.
  }
  if (!changes.empty()) store.add_event(out.row.id, {out.train.step, "horizon", changes});
  atomic_write(files, path, std::string_view(now));
  store.set_config(out.row.id, now);
  out.row.config = now;
}

/// Whether a run's data files have other contents than when it was trained; waits for their digests.
bool Opener::data_changed(const RunPaths& paths, const Json& base) const {
  CheckpointInfo info;
  try {
    info = read_checkpoint_info(files, paths.last());
  } catch (const Error& error) {
    if (error.category != Category::data) throw;
    return false;   // resuming says what is wrong with it
  }
  return identity_digest(full_identity(base, data_digests(hasher))) != hex(info.identity);
}

/// Whether model.safetensors holds the state; a damaged one is exported again.
bool Opener::model_stands(const Opened& out) {
  if (!files.exists(out.paths.model())) return false;
  const auto model = checkpoint_probe(files)(out.paths.model());
  if (model && model->state_hash == hex(out.state)) return true;
  observer.said(fmt::format("{} is damaged or does not hold the run's weights; it is written again", out.paths.model()));
  return false;
}

Opened Opener::resume(RunRow row) {
  Opened out;
  out.paths = paths_of(store, row);
  const auto segments = store.segments(row.id);
  out.lock = lock_run(out.paths, segments.empty() ? nullptr : &segments.back());
  row = *store.run(row.id);   // as the last owner left it
  out.base = base_identity(e, read_run_record(files, out.paths, row.id).at("identity").at("parent"));
  out.row = row;
  store.declare_metrics(row.id, metric_infos());   // a row that was put back has none
  make_checkpoints_folder(out.paths);
  if (!files.exists(out.paths.last()) && row.step == 0) {
    begin_again(out);
    take_config(out);
    return out;
  }
  std::string source;
  const Checkpoint c = load_checkpoint(row, out.paths, source);
  out.selection = selection_from(c.selection);
  tidy(row, out.paths, out.selection);
  load(out, c, source);
  const bool replaced = source != out.paths.last();
  if (replaced) atomic_write(files, out.paths.last(), std::string_view(files.read_file(source)));
  record_position(out, c.info, replaced);
  take_config(out);
  const bool ended = row.status == RunStatus::finished || row.status == RunStatus::stopped;
  const bool reached = !out.train.stop_reason.empty() || out.train.step >= last_step(e);
  out.complete = ended && reached && !evaluation_due(e, out.train.step, out.selection.last_eval) && model_stands(out);
  if (out.complete) require_identity(out.base, data_digests(hasher), out.expected, row.id);
  out.commit_first = reached;   // its last commit may stand without the final rows: the same bytes again
  return out;
}

/// Gives a child its parent's state and chain. The weights must fit. An optimizer, or hooks, whose saved state does not
/// fit as a whole start as at step 0: half of it (moments without their update count) would be neither.
void Opener::inherit(Opened& child, const RunRow& from, const Checkpoint& c, const std::string& source) {
  const std::string chain = paths_of(store, from).chain();
  const ChainRecord head = chain_head(chain, c.info, source);
  StateLoader loader(c, source);
  e.visit(loader);
  TrainState train;
  train.state(loader);
  const auto differs = [&](std::string_view section) {
    for (const auto& items : {loader.missing(), loader.mismatched(), loader.unexpected()})
      if (std::ranges::any_of(items, [&](const std::string& item) { return item.starts_with(section); })) return true;
    return false;
  };
  if (differs(std::string(kModelSection) + ".")) loader.finish();
  if (differs("optim.")) {
    e.restart_optim();
    observer.said("the optimizer is not the parent's: it starts fresh, with empty moments and update 1");
  }
  if (differs("hooks.")) {
    e.restart_hooks();
    if (!e.hooks.empty()) observer.said("the hooks are not the parent's: they start fresh");
  }
  if (child.row.id.empty()) child = create(ParentRef{from.id, c.info.step, hex(c.info.state_hash)}, parent_identity(c.info.identity, c.info.step));
  if (c.info.step > 0) append_chain(files, child.paths.chain(), read_chain(files, chain, 1, c.info.step + 1));
  child.train.step = c.info.step;
  child.state = c.info.state_hash;
  child.head = head;
  child.selection.last_eval = selection_from(c.selection).last_eval;   // what the parent left undone is the child's to do
  child.resumed = child.commit_first = true;
}

/// A child: the parent's state and chain, this config from here on. Its identity names the parent.
Opened Opener::fork(const RunRow& from) {
  std::string source;
  const Checkpoint c = load_checkpoint(from, paths_of(store, from), source);
  Opened out;
  inherit(out, from, c, source);
  return out;
}

Opened Opener::automatic() {
  const auto runs = store.runs(e.config.name);
  if (runs.empty()) return create({}, {});
  RunRow row = runs.front();
  const RunPaths paths = paths_of(store, row);
  if (options.fork) return fork(row);
  if (row.status == RunStatus::finished && !files.exists(paths.record())) {
    observer.said(fmt::format("the folder of run {}, which had finished, is gone; a new run is started", row.id));
    return create({}, {});
  }
  const Json record = read_run_record(files, paths, row.id);
  const auto d = run_differences(e, record);
  if (row.status == RunStatus::finished && d.empty() && data_changed(paths, base_identity(e, record.at("identity").at("parent")))) {
    observer.said(fmt::format("the data files have changed since run {} finished; a new run is started", row.id));
    return create({}, {});
  }
  if (d.empty()) return resume(std::move(row));
  if (row.status == RunStatus::finished) return create({}, {});
  failf(Category::usage, "run {} ({}) is at step {} and unfinished, and this config would train something else:{}\n  go on from its state as a child run with --fork, or start a new run with --new",
        row.id, row.name, row.step, text(d));
}

}  // namespace

std::int64_t last_step(const Experiment& e) {
  return std::min(e.counters.total_steps, e.config.train.max_steps.value_or(e.counters.total_steps));
}

bool evaluation_due(const Experiment& e, std::int64_t step, std::int64_t last_eval) {
  const auto& t = e.config.train;
  if (e.evals.empty() || step == 0 || last_eval >= step) return false;
  return step % t.eval_every_steps.value_or(e.counters.steps_per_epoch * t.eval_every_epochs) == 0;
}

void settle_dead_runs(Store& store, FileSystem& files, Observer& observer) try {
  for (const auto& r : reap(store, files, checkpoint_probe(files)))
    if (r.action != "kept") observer.said(fmt::format("run {}: {}", r.run, r.text));
} catch (const Error& error) {
  if (error.category != Category::data) throw;
  observer.said("runs of dead processes could not all be put right: " + error.message);
}

Opened open_session(Experiment& e, const LoadedConfig& loaded, const TrainOptions& options, FileSystem& files, Store& store, const GitState& git, ManifestHasher& hasher, Observer& observer) {
  Opener o{e, loaded, options, files, store, git, hasher, observer};
  if (options.fresh || (options.resume == ResumeMode::none && !options.fork)) return o.create({}, {});
  if (options.resume != ResumeMode::run) return o.automatic();
  RunRow row = store.find_run(options.resume_run);
  if (options.fork) return o.fork(row);
  const auto d = run_differences(e, read_run_record(files, paths_of(store, row), row.id));
  if (!d.empty())
    failf(Category::usage, "run {} cannot be resumed with this config, which would train something else:{}\n  go on from its state as a child run with --fork, or start a new run with --new", row.id, text(d));
  return o.resume(std::move(row));
}

}  // namespace lockstep
