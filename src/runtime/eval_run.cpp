// From a checkpoint back to numbers.
#include "lockstep/runtime/eval_run.h"

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/signals.h"
#include "lockstep/base/text.h"
#include "lockstep/runtime/identity.h"
#include "lockstep/state/hash.h"
#include "lockstep/state/save_load.h"
#include "lockstep/track/run_dir.h"
#include "runtime/commit.h"

namespace lockstep {
namespace {

/// The checkpoints of a run by the words that name them: last, best, or the step of a kept one.
std::vector<std::pair<std::string, ArtifactRow>> checkpoints_of(const Store& store, const RunRow& run) {
  std::vector<std::pair<std::string, ArtifactRow>> out;
  for (auto& a : store.artifacts(run.id))
    if (a.kind == "last" || a.kind == "best" || a.kind == "kept") out.emplace_back(a.kind == "kept" ? text(a.step) : a.kind, std::move(a));
  return out;
}

/// "last (step 12), best (step 8)" but for the file `not_this`; "none" where nothing is left.
std::string shown(const std::vector<std::pair<std::string, ArtifactRow>>& all, std::string_view not_this = {}) {
  std::vector<std::string> words;
  for (const auto& [word, a] : all)
    if (a.path != not_this) words.push_back(fmt::format("{} (step {})", word, a.step));
  return words.empty() ? "none" : join(words, ", ");
}

/// The file of `last`, `best` or a step.
ArtifactRow find_checkpoint(const Store& store, const RunRow& run, std::string_view which) {
  const auto all = checkpoints_of(store, run);
  const auto step = parse_int(which);
  for (const auto& [word, a] : all)
    if (step ? a.step == *step : word == which) return a;
  failf(Category::data, "run {} has no checkpoint '{}'; it has {}", run.id, which, shown(all));
}

/// Reads it; where that fails, the error says what else the run has.
Checkpoint read_chosen(const Store& store, const RunRow& run, const ArtifactRow& row, const std::string& path) try {
  return read_checkpoint(real_files(), path);
} catch (Error& e) {
  if (e.category == Category::data) e.message += fmt::format("; the run has besides it: {}. Name another with --checkpoint, or train again", shown(checkpoints_of(store, run), row.path));
  throw;
}

}  // namespace

std::optional<bool> EvalReport::matches_logged() const {
  bool any = false, all = true;
  for (const auto& l : logged) {
    if (!l.value) continue;
    any = true;
    all = all && l.equal;
  }
  return any ? std::optional(all) : std::nullopt;
}

RunRow find_run_of(Experiment& e, const Store& store) {
  const auto runs = store.runs(e.config.name);
  if (runs.empty()) failf(Category::usage, "no run in {} is called '{}'; train it first, or name a run", store.runs_dir(), e.config.name);
  std::string newest;
  for (const RunRow& run : runs) {
    const RunPaths paths{join_path(store.runs_dir(), run.id)};
    if (!real_files().exists(paths.record())) continue;
    const auto d = run_differences(e, read_run_record(real_files(), paths, run.id));
    if (d.empty()) return run;
    if (newest.empty()) newest = fmt::format("; the newest, {}, differs in:{}", run.id, text(d));
  }
  failf(Category::usage, "no run called '{}' in {} was trained with this config{}\n  train it, or name a run instead of the config", e.config.name, store.runs_dir(), newest);
}

namespace {

/// Why the logged values say nothing about `e`; empty when they do. Throws data where that is nobody's wish.
std::string why_not_compared(Experiment& e, const Store& store, const RunRow& run, const Digest& identity, bool changed) {
  const RunPaths paths{join_path(store.runs_dir(), run.id)};
  const Json record = read_run_record(real_files(), paths, run.id);
  if (const auto d = run_differences(e, record); !d.empty()) {
    if (changed) return "the overrides make another experiment of it:" + text(d);
    failf(Category::data, "{} or the data files are no longer what run {} was trained with:{}\n  put them back as they were; overrides evaluate something else on purpose",
          paths.config(), run.id, text(d));
  }
  const Json base = base_identity(e, record.at("identity").at("parent"));
  const Json digests = data_digests(*hash_data(e, join_path(store.runs_dir(), kDigestCache)));
  if (changed && identity_digest(full_identity(base, digests)) != hex(identity)) return "the data files named by the overrides have other contents";
  require_identity(base, digests, identity, run.id);
  return {};
}

}  // namespace

EvalReport evaluate_run(Experiment& e, Store& store, const RunRow& run, std::string_view which, std::string_view split, bool changed) {
  const int signals = interrupts();
  EvalReport out;
  out.run = run.id;
  const ArtifactRow row = find_checkpoint(store, run, which);
  out.checkpoint = join_path(join_path(store.runs_dir(), run.id), row.path);
  Checkpoint c = read_chosen(store, run, row, out.checkpoint);
  if (c.info.step != row.step || hex(c.info.state_hash) != row.hash)
    failf(Category::data, "{} is of step {}, and the run store says step {}: the run went on meanwhile, or the file was changed from outside; ask again, or put it right with `lockstep runs reap`",
          out.checkpoint, c.info.step, row.step);
  out.not_compared = why_not_compared(e, store, run, c.info.identity, changed);
  // Only the model is loaded; what the optimizer and the hooks kept is no business of an evaluation.
  std::erase_if(c.tensors, [](const CheckpointTensor& t) { return !t.name.starts_with(std::string(kModelSection) + "."); });
  c.scalars = Json::object();
  StateLoader loader(c, out.checkpoint);
  {
    const StateVisitor::Section section(loader, kModelSection);
    e.model->state(loader);
  }
  loader.finish();
  const Digest hash = state_hash(state_entries(e)).root;
  if (hash != c.info.state_hash)
    failf(Category::mismatch, "{}: the loaded weights hash to {}, the checkpoint says {}; the config builds another model than the run's", out.checkpoint, hex(hash).substr(0, 16), hex(c.info.state_hash).substr(0, 16));
  out.step = c.info.step;
  out.state_hash = hex(hash);

  const auto add = [&](const Split& s) {
    auto part = interrupts() != signals ? std::nullopt : evaluate(e, s);
    if (!part) fail(Category::interrupted, "interrupted by a signal; nothing was changed");
    out.evaluation.samples += part->samples;
    std::ranges::move(part->metrics, std::back_inserter(out.evaluation.metrics));
  };
  if (split == "test") add(e.open_test());
  else if (e.evals.empty()) fail(Category::usage, "the config has no data.val; name a dataset there, or evaluate data.test with --split test");
  else for (const auto& s : e.evals) add(s);

  for (const auto& m : out.evaluation.metrics) {
    EvalReport::Logged l{m.name, out.not_compared.empty() ? store.metric(run.id, m.name, out.step) : std::nullopt, false};
    if (l.value) l.equal = (std::isnan(*l.value) && std::isnan(m.value)) || std::bit_cast<std::uint64_t>(*l.value) == std::bit_cast<std::uint64_t>(m.value);
    out.logged.push_back(std::move(l));
  }
  return out;
}

}  // namespace lockstep
