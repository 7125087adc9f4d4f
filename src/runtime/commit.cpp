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
  for (const auto& v : s.values) values.set(v.name, hex(std::bit_cast<std::uint64_t>(v.value)));
  for (const auto k : s.kept) kept.push(k);
  return Json::object()
      .set("last_eval", s.last_eval)
      .set("values", std::move(values))
      .set("best", s.best ? Json(hex(std::bit_cast<std::uint64_t>(*s.best))) : Json())
      .set("best_step", s.best_step)
      .set("kept", std::move(kept));
}

Selection selection_from(const Json& j) {
  const auto real = [](const Json& v) { return std::bit_cast<double>(static_cast<std::uint64_t>(std::stoull(v.string(), nullptr, 16))); };
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

Committer::Committer(RunFiles run, Experiment& e, Json base, std::future<Json> digests, Digest expected, const ChainRecord& head, std::int64_t keep)
    : run_(std::move(run)), e_(e), base_(std::move(base)), digests_(std::move(digests)), expected_(expected), head_(head),
      chain_durable_(static_cast<std::int64_t>(head.t)), keep_(keep) {}

void Committer::record(const Nh128& batch, double loss, double grad_norm, const Nh128& fingerprint) {
  head_ = chain_next(head_, batch, loss, grad_norm, fingerprint);
  pending_.push_back(head_);
}

Digest Committer::hash_now() const { return state_hash(state_entries(e_)).root; }

void Committer::set_committed(std::int64_t step, const Digest& state) {
  committed_ = step;
  state_ = state;
}

bool Committer::commit(TrainState& train, std::int64_t epoch, Selection& selection, bool best, Observer& observer) {
  if (!identified_) {
    const Json digests = digests_.get();
    const Json full = full_identity(base_, digests);
    const std::string text = identity_digest(full);
    const auto bytes = from_hex(text);
    std::ranges::copy(*bytes, identity_.begin());
    if (expected_ != Digest{} && identity_ != expected_)
      failf(Category::data, "run {}: the data files are no longer those that the run began with (identity {} now, {} in the checkpoint, and the config is the same); put the old files back, or start a new run with --new",
            run_.id, text.substr(0, 12), hex(expected_).substr(0, 12));
    identified_ = true;
  }
  const Selection before = selection;
  try {
    write(train, epoch, selection, best);
  } catch (const Error& e) {
    if (e.category != Category::resource) throw;
    selection = before;
    const bool full = e.message.find("No space left") != std::string::npos || e.message.find("full") != std::string::npos;
    if (full || ++failures_ >= 3) {
      Error out(Category::resource, fmt::format("the commit of step {} failed{}: {}. The checkpoint of step {} stands; make room and continue with --resume=auto",
                                                train.step, full ? "" : " for the third time", e.message, std::max<std::int64_t>(committed_, 0)));
      throw out;
    }
    observer.said(fmt::format("the commit of step {} failed and is tried again at the next one: {}", train.step, e.message));
    return false;
  }
  failures_ = 0;
  observer.committed({train.step, hex(state_), best});
  return true;
}

void Committer::write(TrainState& train, std::int64_t epoch, Selection& selection, bool best) {
  run_.store.commit_rows(run_.id, run_.segment, train.step, rows);                                  // 1
  if (!pending_.empty()) {                                                                          // 2
    if (const auto steps = chain_steps(run_.files, run_.paths.chain()); steps && (*steps > chain_durable_ || run_.files.stat(run_.paths.chain())->size % sizeof(ChainRecord) != 0))
      truncate_chain(run_.files, run_.paths.chain(), chain_durable_);   // a failed attempt got this far
    append_chain(run_.files, run_.paths.chain(), pending_);
    chain_durable_ = static_cast<std::int64_t>(head_.t);
    pending_.clear();
  }
  Checkpoint c;                                                                                     // 3
  const bool keep = keep_ > 0 && train.step > 0;
  if (keep && (selection.kept.empty() || selection.kept.back() != train.step)) selection.kept.push_back(train.step);
  while (static_cast<std::int64_t>(selection.kept.size()) > keep_ + (keep ? 1 : 0)) selection.kept.erase(selection.kept.begin());
  c.info = {identity_, train.step, head_.h, hash_now()};
  StateSaver saver(c);
  e_.visit(saver);
  train.state(saver);
  c.selection = to_json(selection);
  const std::string tmp = run_.paths.last() + ".tmp";
  write_checkpoint(run_.files, tmp, c);
  static_cast<void>(verify_checkpoint(run_.files, tmp));
  place(train.step, best, keep);                                                                    // 4, 5
  state_ = c.info.state_hash;
  committed_ = train.step;

  const auto bytes = static_cast<std::int64_t>(run_.files.stat(run_.paths.last())->size);           // 6
  const std::string hash = hex(state_);
  std::vector<ArtifactRow> artifacts = {{"last", "checkpoints/last.ckpt", train.step, hash, bytes}};
  if (best) artifacts.push_back({"best", "checkpoints/best.ckpt", train.step, hash, bytes});
  if (keep) artifacts.push_back({"kept", "checkpoints/" + std::string(file_name(run_.paths.kept(train.step))), train.step, hash, bytes});
  CheckpointCommit commit;
  commit.step = train.step;
  commit.epoch = epoch;
  commit.state_hash = hash;
  commit.chain_hash = hex(head_.h);
  commit.artifacts = artifacts;
  commit.identity = hex(identity_);
  run_.store.commit_checkpoint(run_.id, commit);
  retain(selection);                                                                                // 7
}

void Committer::place(std::int64_t step, bool best, bool keep) {
  const std::string tmp = run_.paths.last() + ".tmp";
  const auto also = [&](const std::string& to) {
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
  };
  if (best) also(run_.paths.best());
  if (keep) also(run_.paths.kept(step));
  run_.files.rename(tmp, run_.paths.last());
  run_.files.sync_dir(run_.paths.checkpoints());
}

/// Forgets retained checkpoints that fell out of the list, rows first. Last and best are never candidates.
void Committer::retain(Selection& selection) {
  std::vector<std::string> paths;
  for (const auto& a : run_.store.artifacts(run_.id))
    if (a.kind == "kept" && std::ranges::find(selection.kept, a.step) == selection.kept.end()) paths.push_back(a.path);
  if (paths.empty()) return;
  run_.store.drop_artifacts(run_.id, paths);
  for (const auto& p : paths) run_.files.unlink(join_path(run_.paths.dir, p));
}

void Committer::finish(RunStatus status, std::string_view reason, std::int64_t epoch, const SegmentEnd& end) {
  const auto entries = state_entries(e_);
  const std::string tmp = run_.paths.model() + ".tmp";
  write_safetensors(run_.files, tmp, entries,
                    {{"lockstep.state_hash", hex(state_)}, {"lockstep.identity", hex(identity_)}, {"lockstep.step", text(committed_)}});   // 8
  run_.files.rename(tmp, run_.paths.model());
  run_.files.sync_dir(run_.paths.dir);
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
  run_.store.finish(run_.id, f);                                                                    // 9
}

}  // namespace lockstep
