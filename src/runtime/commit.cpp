// The commit protocol, step by step; the numbers are those of docs/formats.md.
#include "runtime/commit.h"

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/state/hash.h"
#include "lockstep/state/save_load.h"

namespace lockstep {

Json to_json(const Selection& s) {
  Json values = Json::object(), kept = Json::array();
  for (const auto& v : s.values) values.set(v.name, bits_text(v.value));
  for (const auto k : s.kept) kept.push(k);
  return Json::object()
      .set("last_eval", s.last_eval)
      .set("values", std::move(values))
      .set("best", s.best ? Json(bits_text(*s.best)) : Json())
      .set("best_step", s.best_step)
      .set("kept", std::move(kept));
}

Selection selection_from(const Json& j) {
  const auto real = [](const Json& v) {
    const auto value = parse_bits(v.string());
    if (!value) failf(Category::data, "{} is not 16 hexadecimal digits", quote(v.string()));
    return *value;
  };
  Selection s;
  s.last_eval = j.at("last_eval").integer();
  for (const auto& [name, v] : j.at("values").members()) s.values.push_back({name, real(v)});
  if (!j.at("best").is_null()) s.best = real(j.at("best"));
  s.best_step = j.at("best_step").integer();
  for (const auto& k : j.at("kept").items()) s.kept.push_back(k.integer());
  return s;
}

void TrainState::state(StateVisitor& v) {
  const StateVisitor::Section section(v, "train");
  v.integer("step", step);
  v.string("stop_reason", stop_reason);
}

std::vector<TensorEntry> state_entries(const Experiment& e) {
  std::vector<TensorEntry> out;
  for (const auto& t : e.state) out.push_back({t.name, t.tensor});
  return out;
}

void restore_chain(FileSystem& files, const std::string& path, std::int64_t t) {
  const auto stat = files.stat(path);
  if (!stat && t == 0) return;
  if (t == 0 && stat->size < sizeof(ChainRecord)) {
    files.unlink(path);
    return;
  }
  truncate_chain(files, path, t);
}

Committer::Committer(RunFiles run, Experiment& e, Json base, std::unique_ptr<ManifestHasher> hasher, Digest expected, const ChainRecord& head, std::int64_t keep)
    : run_(std::move(run)), e_(e), base_(std::move(base)), hasher_(std::move(hasher)), expected_(expected), head_(head),
      chain_durable_(static_cast<std::int64_t>(head.t)), keep_(keep) {}

void Committer::record(const Nh128& batch, double loss, double grad_norm, const Nh128& fingerprint) {
  head_ = chain_next(head_, batch, loss, grad_norm, fingerprint);
  pending_.push_back(head_);
}

Digest Committer::hash_now() const { return state_hash(state_entries(e_)).root; }

void Committer::set_committed(std::int64_t step, const Digest& state) {
  committed_ = step;
  placed_ = std::max(placed_, step);
  state_ = state;
}

void Committer::check_data() {
  if (hasher_ && hasher_->ready()) identify();
}

void Committer::identify() {
  if (!hasher_) return;
  const Json digests = data_digests(*hasher_);
  hasher_.reset();
  if (expected_ != Digest{}) require_identity(base_, digests, expected_, run_.id);
  std::ranges::copy(*from_hex(identity_digest(full_identity(base_, digests))), identity_.begin());
}

std::string Committer::what_stands() const {
  return placed_ < 0 ? "No checkpoint was written yet" : fmt::format("The checkpoint of step {} stands", placed_);
}

std::string Committer::gave_up(const Error& e) const {
  return fmt::format("{}. {}; {} and continue with --resume", e.message, what_stands(), e.no_space ? "make room" : "mend that");
}

CommitResult Committer::commit(TrainState& train, std::int64_t epoch, Selection& selection, bool best, const SegmentEnd& so_far, Observer& observer) {
  identify();
  try {
    write(train, epoch, selection, best, so_far);
  } catch (const Error& e) {
    if (e.category != Category::resource) throw;
    if (e.no_space || ++failures_ >= 3) {
      Error out(Category::resource, fmt::format("the commit of step {} failed{}: {}", train.step, e.no_space ? "" : " for the third time", gave_up(e)));
      out.no_space = e.no_space;
      throw out;
    }
    observer.said(fmt::format("the commit of step {} failed and is tried again at the next one: {}", train.step, e.message));
    rows.event({train.step, "commit failed", e.message});
    const bool stands = std::ranges::any_of(unrecorded_, [&](const ArtifactRow& a) { return a.kind == "best" && a.step == train.step; });
    return {false, best && stands};
  }
  failures_ = 0;
  retain(selection, observer);                                                                      // 7
  observer.committed({train.step, hex(state_), best});
  return {true, best};
}

void Committer::write(TrainState& train, std::int64_t epoch, Selection& selection, bool best, const SegmentEnd& so_far) {
  run_.store.commit_rows(run_.id, run_.segment, train.step, rows);                                  // 1
  if (!pending_.empty()) {                                                                          // 2
    restore_chain(run_.files, run_.paths.chain(), chain_durable_);   // a failed attempt may have got this far
    append_chain(run_.files, run_.paths.chain(), pending_);
    chain_durable_ = static_cast<std::int64_t>(head_.t);
    pending_.clear();
  }
  Checkpoint c;                                                                                     // 3
  const bool keep = keep_ > 0 && train.step > 0;
  Selection next = selection;
  if (keep && (next.kept.empty() || next.kept.back() != train.step)) next.kept.push_back(train.step);
  while (static_cast<std::int64_t>(next.kept.size()) > keep_ + (keep ? 1 : 0)) next.kept.erase(next.kept.begin());
  c.info = {identity_, train.step, epoch, head_.h, hash_now()};
  StateSaver saver(c);
  e_.visit(saver);
  train.state(saver);
  c.selection = to_json(next);
  const std::string tmp = run_.paths.last() + ".tmp", hash = hex(c.info.state_hash);
  run_.files.unlink(tmp);   // a failed attempt may have linked it to best or kept, which must keep their bytes
  write_checkpoint(run_.files, tmp, c);
  try {
    static_cast<void>(verify_checkpoint(run_.files, tmp));
  } catch (const Error& e) {   // what was just written reads back otherwise: a fault of the disk, not of the data
    fail(Category::resource, e.message);
  }
  place(train.step, hash, best, keep);                                                              // 4, 5
  selection = std::move(next);

  CheckpointCommit commit;                                                                          // 6
  commit.step = train.step;
  commit.epoch = epoch;
  commit.state_hash = hash;
  commit.chain_hash = hex(head_.h);
  commit.artifacts = unrecorded_;
  commit.identity = hex(identity_);
  commit.segment = so_far;
  run_.store.commit_checkpoint(run_.id, commit);
  unrecorded_.clear();
  state_ = c.info.state_hash;
  committed_ = train.step;
}

void Committer::place(std::int64_t step, const std::string& hash, bool best, bool keep) {
  const std::string tmp = run_.paths.last() + ".tmp";
  const auto bytes = static_cast<std::int64_t>(run_.files.stat(tmp)->size);
  const auto placed = [&](std::string kind, const std::string& path) {
    unrecorded_.push_back({std::move(kind), path.substr(run_.paths.dir.size() + 1), step, hash, bytes});
  };
  const auto also = [&](std::string kind, const std::string& to) {
    const std::string next = to + ".tmp";
    run_.files.unlink(next);
    bool linked = false;
    try {
      linked = run_.files.link(tmp, next);
    } catch (const Error&) {
      // Some file systems refuse hard links: a synced copy does the same for twice the bytes.
    }
    if (!linked) {
      const auto file = run_.files.open(next, OpenMode::truncate);
      file->write(std::string_view(run_.files.read_file(tmp)));
      file->sync();
      file->close();
    }
    run_.files.rename(next, to);
    placed(std::move(kind), to);
  };
  if (best) also("best", run_.paths.best());
  if (keep) also("kept", run_.paths.kept(step));
  run_.files.rename(tmp, run_.paths.last());
  placed("last", run_.paths.last());
  placed_ = step;
  run_.files.sync_dir(run_.paths.checkpoints());
}

/// Forgets retained checkpoints that fell out of the list, rows first. Last and best are never candidates. The commit
/// stands already, so what fails here is only said: rows are tried again at the next commit, files at the next start.
void Committer::retain(const Selection& selection, Observer& observer) try {
  std::vector<std::string> paths;
  for (const auto& a : run_.store.artifacts(run_.id))
    if (a.kind == "kept" && std::ranges::find(selection.kept, a.step) == selection.kept.end()) paths.push_back(a.path);
  if (paths.empty()) return;
  run_.store.drop_artifacts(run_.id, paths);
  for (const auto& p : paths) run_.files.unlink(join_path(run_.paths.dir, p));
} catch (const Error& e) {
  if (e.category != Category::resource) throw;
  observer.said("an old checkpoint could not be removed yet: " + e.message);
}

void Committer::export_model(RunStatus status) {
  const std::string tmp = run_.paths.model() + ".tmp";
  write_safetensors(run_.files, tmp, state_entries(e_),
                    {{std::string(kStateHashKey), hex(state_)},
                     {std::string(kIdentityKey), hex(identity_)},
                     {std::string(kStepKey), text(committed_)},
                     {std::string(kStatusKey), std::string(text(status))}});
  run_.files.rename(tmp, run_.paths.model());
  run_.files.sync_dir(run_.paths.dir);
}

void Committer::finish(RunStatus status, std::string_view reason, std::int64_t epoch, const SegmentEnd& end, Observer& observer) {
  identify();   // a run that was stopped before its first step here has not asked yet
  for (int attempt = 1;; ++attempt) {
    try {
      export_model(status);                                                                         // 8
      const std::vector<ArtifactRow> artifacts = {{"model", "model.safetensors", committed_, hex(state_), static_cast<std::int64_t>(run_.files.stat(run_.paths.model())->size)}};
      FinishCommit f;
      f.status = status;
      f.reason = reason;
      f.step = committed_;
      f.epoch = epoch;
      f.state_hash = hex(state_);
      f.chain_hash = hex(head_.h);
      f.artifacts = artifacts;
      f.segment = end;
      run_.store.finish(run_.id, f);                                                                // 9
      return;
    } catch (const Error& e) {
      if (e.category != Category::resource) throw;
      if (e.no_space || attempt == 3) {
        Error out(Category::resource, "the run is trained, but its end could not be recorded: " + gave_up(e));
        out.no_space = e.no_space;
        throw out;
      }
      observer.said("recording the end of the run failed and is tried again: " + e.message);
    }
  }
}

}  // namespace lockstep
