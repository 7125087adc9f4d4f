// Opening a run: which one, from where, and what a crash left to put right.
#include "runtime/session.h"

#include <filesystem>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/component/canonical.h"
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
  Observer& observer;

  Opened create(const std::optional<ParentRef>& parent);
  Opened resume(RunRow row);
  Opened fork(const RunRow& from);
  Opened automatic();
  std::vector<IdentityDifference> differences(const RunRow& row, const Json& record, const Json& base) const;
  Checkpoint load_checkpoint(const RunRow& row, const RunPaths& paths, std::string& source);
  void tidy(const RunRow& row, const RunPaths& paths, const Selection& selection);
};

RunPaths paths_of(const Store& store, const RunRow& row) { return {join_path(store.runs_dir(), row.id)}; }

std::string list(const std::vector<IdentityDifference>& d) {
  std::string out;
  for (const auto& x : d) out += fmt::format("\n  {}: {} there, {} now", x.path, x.a, x.b);
  return out;
}

Opened Opener::create(const std::optional<ParentRef>& parent) {
  NewRun made = create_run_dir(files, options.runs_dir);
  Opened out;
  out.base = base_identity(e, parent);
  out.row.id = made.id;
  out.row.name = e.config.name;
  out.row.created_ns = wall_ns();
  out.row.identity = identity_digest(out.base);
  out.row.config = canonical_text(canonical(e.config));
  out.row.directory = made.paths.dir;
  out.row.parent = parent;
  out.paths = made.paths;
  out.lock = std::move(made.lock);
  files.mkdir(out.paths.checkpoints());
  atomic_write(files, out.paths.config(), std::string_view(out.row.config));
  atomic_write(files, out.paths.record(), std::string_view(run_record(out.row, out.base, data_manifests(e), environment_json(capture_environment(), git)).dump(2) + "\n"));
  std::vector<MetricInfo> metrics = {{"train/loss", Direction::lower}, {"train/lr", Direction::none}, {"train/grad_norm", Direction::none}};
  for (const auto& name : e.metric_names()) metrics.push_back({name, e.direction(name)});
  store.create_run(out.row, metrics);
  return out;
}

std::vector<IdentityDifference> Opener::differences(const RunRow&, const Json& record, const Json& base) const {
  std::vector<IdentityDifference> d = compare_identities(record.at("identity"), base);
  // Locations may move: names and sizes are compared, contents by their digests at the first commit.
  const Json now = data_manifests(e);
  for (const auto& [split, manifest] : record.at("data").members()) {
    const Json* other = now.find(split);
    if (other == nullptr) continue;   // already a difference of the config
    for (auto& x : compare_identities(manifest.at("files"), other->at("files"))) d.push_back({"data." + split + ".files." + x.path, x.a, x.b});
  }
  return d;
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

Opened Opener::resume(RunRow row) {
  Opened out;
  out.paths = paths_of(store, row);
  const auto segments = store.segments(row.id);
  out.lock = lock_run(out.paths, segments.empty() ? nullptr : &segments.back());
  row = *store.run(row.id);   // as the last owner left it
  out.base = base_identity(e, row.parent);
  out.row = row;
  if (!files.exists(out.paths.checkpoints())) files.mkdir(out.paths.checkpoints());
  const bool started = files.exists(out.paths.last());
  if (!started && row.step > 0)
    failf(Category::data, "{} is missing, although run {} committed step {}; nothing was deleted. Put the file back or start again with --new", out.paths.last(), row.id, row.step);
  if (!started) {   // died before its first commit
    tidy(row, out.paths, {});
    if (chain_steps(files, out.paths.chain())) truncate_chain(files, out.paths.chain(), 0);
    return out;
  }
  std::string source;
  const Checkpoint c = load_checkpoint(row, out.paths, source);
  out.selection = selection_from(c.selection);
  tidy(row, out.paths, out.selection);
  const auto steps = chain_steps(files, out.paths.chain());
  if (!steps || *steps < c.info.step)
    failf(Category::mismatch, "{} ends at step {}, but the checkpoint {} is of step {}: the chain must reach every checkpoint. One of the files was changed by hand; start again with --new", out.paths.chain(), steps.value_or(0), source, c.info.step);
  out.head = c.info.step == 0 ? chain_start() : read_chain(files, out.paths.chain(), c.info.step);
  if (out.head.h != c.info.chain)
    failf(Category::mismatch, "record {} of {} has the hash {}, but the checkpoint {} says {}: they belong to different runs. Start again with --new", c.info.step, out.paths.chain(), hex(out.head.h).substr(0, 16), source, hex(c.info.chain).substr(0, 16));
  truncate_chain(files, out.paths.chain(), c.info.step);

  StateLoader loader(c, source);
  e.visit(loader);
  out.train.state(loader);
  loader.finish();
  const Digest state = state_hash(state_entries(e)).root;
  if (state != c.info.state_hash)
    failf(Category::mismatch, "{} says its state hash is {}, but what was loaded hashes to {}; the file was made by a broken build. Start again with --new", source, hex(c.info.state_hash).substr(0, 16), hex(state).substr(0, 16));
  out.expected = c.info.identity;
  out.state = state;
  out.resumed = true;
  if (row.step != c.info.step || source != out.paths.last()) {   // the disk is ahead of the database, or an older file was taken
    if (source != out.paths.last()) {
      atomic_write(files, out.paths.last(), std::string_view(files.read_file(source)));
    }
    const std::vector<ArtifactRow> artifacts = {{"last", "checkpoints/last.ckpt", c.info.step, hex(state), static_cast<std::int64_t>(files.stat(out.paths.last())->size)}};
    CheckpointCommit commit;
    commit.step = c.info.step;
    commit.epoch = c.info.step / e.counters.steps_per_epoch;
    commit.state_hash = hex(state);
    commit.chain_hash = hex(c.info.chain);
    commit.artifacts = artifacts;
    commit.identity = hex(c.info.identity);
    store.commit_checkpoint(row.id, commit);
  }
  const bool finished = row.status == RunStatus::finished || row.status == RunStatus::stopped;
  out.complete = finished && (!out.train.stop_reason.empty() || out.train.step >= last_step(e)) && files.exists(out.paths.model());
  return out;
}

/// A child: the parent's state and chain, this config from here on. Its identity names the parent.
Opened Opener::fork(const RunRow& from) {
  const RunPaths parent = paths_of(store, from);
  std::string source;
  const Checkpoint c = load_checkpoint(from, parent, source);
  StateLoader loader(c, source);
  e.visit(loader);
  TrainState train;
  train.state(loader);
  for (const auto& what : {loader.missing(), loader.mismatched()})
    for (const auto& item : what)
      if (item.starts_with("model.")) loader.finish();   // weights must fit; optimizer and hooks may be new
  for (const auto& item : loader.missing()) observer.said("not in the parent, starts fresh: " + item);
  Opened out = create(ParentRef{from.id, c.info.step, hex(c.info.state_hash)});
  if (c.info.step > 0) append_chain(files, out.paths.chain(), read_chain(files, parent.chain(), 1, c.info.step + 1));
  out.train.step = c.info.step;
  out.state = c.info.state_hash;
  out.head = c.info.step == 0 ? chain_start() : read_chain(files, parent.chain(), c.info.step);
  out.selection.last_eval = c.info.step;
  out.resumed = true;
  return out;
}

Opened Opener::automatic() {
  const auto runs = store.runs(e.config.name);
  if (runs.empty()) return create({});
  RunRow row = runs.front();
  const RunPaths paths = paths_of(store, row);
  if (!files.exists(paths.record())) {
    observer.said(fmt::format("the folder of run {} is gone; a new run is started", row.id));
    return create({});
  }
  const Json record = Json::parse(files.read_file(paths.record()), paths.record());
  const auto d = differences(row, record, base_identity(e, row.parent));
  if (d.empty() && !options.fork) return resume(std::move(row));
  if (options.fork) return fork(row);
  if (row.status == RunStatus::finished) return create({});
  failf(Category::usage, "run {} ({}) is at step {} and unfinished, and this config would train something else:{}\n  go on from its state as a child run with --fork, or start a new run with --new",
        row.id, row.name, row.step, list(d));
}

}  // namespace

std::int64_t last_step(const Experiment& e) {
  return std::min(e.counters.total_steps, e.config.train.max_steps.value_or(e.counters.total_steps));
}

Opened open_session(Experiment& e, const LoadedConfig& loaded, const TrainOptions& options, FileSystem& files, Store& store, const GitState& git, Observer& observer) {
  Opener o{e, loaded, options, files, store, git, observer};
  if (options.fresh || (options.resume == ResumeMode::none && !options.fork)) return o.create({});
  if (options.resume != ResumeMode::run) return o.automatic();
  RunRow row = store.find_run(options.resume_run);
  if (options.fork) return o.fork(row);
  const RunPaths paths = paths_of(store, row);
  const Json record = Json::parse(files.read_file(paths.record()), paths.record());
  const auto d = o.differences(row, record, base_identity(e, row.parent));
  if (!d.empty())
    failf(Category::usage, "run {} cannot be resumed with this config, which would train something else:{}\n  go on from its state as a child run with --fork, or start a new run with --new", row.id, list(d));
  return o.resume(std::move(row));
}

}  // namespace lockstep
