// Repeats runs in a folder of their own and compares chains.
#include "lockstep/audit/verify.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/runtime/identity.h"
#include "lockstep/runtime/train.h"
#include "lockstep/state/chain.h"
#include "lockstep/track/run_dir.h"
#include "runtime/session.h"

namespace lockstep {
namespace {

/// A folder below the system's temporary one, removed with everything that the repetitions wrote.
class Scratch {
 public:
  Scratch() {
    const char* asked = std::getenv("TMPDIR");
    const std::string below = asked != nullptr && *asked != 0 ? asked : "/tmp";
    std::string pattern = join_path(below, "lockstep-verify-XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr) failf(Category::resource, "no temporary folder can be made in {}: {}; set TMPDIR to a folder that can be written", quote(below), std::strerror(errno));
    path = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path;
};

class Quiet final : public Observer {};

/// One link of the line of descent: what to train, from which step of the one before, to which step.
struct Link {
  LoadedConfig loaded;
  std::int64_t until = 0;
};

/// Trains one link to `until`; with `resume_at` inside its steps, in two processes' worth of work.
TrainResult train_link(const Link& link, std::int64_t from, const Variant& v, const std::string& runs_dir, const std::string& parent) {
  LoadedConfig loaded = link.loaded;
  loaded.config.data.loader.workers = v.workers;
  loaded.config.train.shards_per_pass = v.shards_per_pass;
  TrainConfig& train_config = loaded.config.train;
  train_config.checkpoint = {};
  train_config.max_minutes.reset();            // a slow variant is not another one
  if (!schedule_reads_total(loaded.config)) {  // the run may have been extended since its config was written
    train_config.epochs.reset();
    train_config.steps = link.until;
  }
  TrainOptions options;
  options.runs_dir = runs_dir;
  options.threads = v.threads;
  options.isa = v.isa;
  if (!parent.empty()) {
    options.resume = ResumeMode::run;
    options.resume_run = parent;
    options.fork = true;
  }
  Quiet quiet;
  TrainResult out;
  if (v.resume_at && *v.resume_at > from && *v.resume_at < link.until) {
    train_config.max_steps = *v.resume_at;
    out = train(loaded, options, quiet);
    if (out.exit_code != 0) return out;
    options = {.runs_dir = runs_dir, .resume = ResumeMode::run, .resume_run = out.run, .threads = v.threads, .isa = v.isa};
  }
  train_config.max_steps = link.until;
  out = train(loaded, options, quiet);
  if (out.step != link.until && out.exit_code != exit_code(Category::interrupted))
    failf(Category::data, "a repetition ended at step {} of {}: {}; nothing was compared", out.step, link.until, out.reason);
  return out;
}

TrainResult train_all(std::span<const Link> line, const Variant& v, const std::string& runs_dir) {
  TrainResult out;
  std::int64_t from = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    out = train_link(line[i], from, v, runs_dir, i == 0 ? "" : out.run);
    if (out.exit_code == exit_code(Category::interrupted)) fail(Category::interrupted, "interrupted by a signal; nothing was changed");
    from = line[i].until;
  }
  return out;
}

std::string chain_path(const std::string& runs_dir, const std::string& run) { return RunPaths{join_path(runs_dir, run)}.chain(); }

/// Compares up to the shorter wanted length: a recorded run may be longer than what was repeated.
std::string compare(const std::string& reference, const std::string& repeated, std::int64_t steps) {
  const auto d = compare_chains(real_files(), reference, repeated);
  if (!d || d->t > steps) return {};
  return fmt::format("step {}: {}", d->t, d->what);
}

VerifyResult repeat(std::span<const Link> line, std::string reference_chain, std::string reference_name, std::string reference_state, std::vector<Variant> variants, const VerifyProgress& progress) {
  VerifyResult out;
  out.state_hash = std::move(reference_state);
  out.steps = line.back().until;
  out.reference = std::move(reference_name);
  if (variants.empty()) variants = default_variants(out.steps);
  const Scratch scratch;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string dir = join_path(scratch.path, text(i));
    const TrainResult r = train_all(line, variants[i], dir);
    VariantResult v{variants[i], r.state_hash, r.chain_hash, true, {}};
    if (reference_chain.empty()) {
      reference_chain = chain_path(dir, r.run);
      out.reference = "variant 1";
    } else {
      v.difference = compare(reference_chain, chain_path(dir, r.run), out.steps);
      v.equal = v.difference.empty();
    }
    if (out.state_hash.empty()) out.state_hash = r.state_hash;
    if (r.state_hash != out.state_hash) {
      v.equal = false;
      if (v.difference.empty()) v.difference = "the final state";
    }
    out.equal = out.equal && v.equal;
    if (progress) progress(v);
    out.variants.push_back(std::move(v));
  }
  return out;
}

/// A run's config, which must still train what the run trained: an edited file or other data would only differ later,
/// and look like a broken promise.
LoadedConfig recorded(const std::string& runs_dir, const RunRow& run, std::span<const std::string> overrides) {
  const RunPaths paths{join_path(runs_dir, run.id)};
  const Json record = read_run_record(real_files(), paths, run.id);
  LoadedConfig out = load_config(config_of(real_files(), paths, run.id), overrides);
  Experiment e(out.config);
  if (const auto d = run_differences(e, record); !d.empty()) {
    if (!overrides.empty()) failf(Category::usage, "'{}' is a recorded run, and the overrides change what it is:{}\n  give a config file to verify a changed one", run.id, text(d));
    failf(Category::data, "{} or the data files are no longer what run {} was trained with:{}\n  put them back as they were", paths.config(), run.id, text(d));
  }
  const auto hasher = hash_data(e, join_path(runs_dir, kDigestCache));
  require_identity(base_identity(e, record.at("identity").at("parent")), data_digests(*hasher), read_checkpoint_info(real_files(), paths.last()).identity, run.id);
  return out;
}

std::int64_t wanted(std::int64_t all, std::int64_t steps) { return steps > 0 ? std::min(all, steps) : all; }

}  // namespace

std::vector<Variant> default_variants(std::int64_t steps) {
  // Only a stop before the last step leaves something to resume.
  const auto resume = [steps](std::int64_t at) { return at >= 1 && at < steps ? std::optional(at) : std::nullopt; };
  std::vector<Variant> out = {{1, 0, Isa::scalar, 1, {}}};
  const Isa best = best_isa();
  if (best == Isa::scalar) out.push_back({2, 1, Isa::scalar, 1, resume(steps / 2)});
  if (supported(Isa::avx2)) out.push_back({2, 1, Isa::avx2, 2, resume(steps / 2)});
  out.push_back({3, 4, best, 1, resume(1)});
  out.push_back({7, 2, best, 4, resume(steps - 1)});
  return out;
}

VerifyResult verify_config(const LoadedConfig& loaded, std::int64_t steps, std::vector<Variant> variants, const VerifyProgress& progress) {
  const std::int64_t all = last_step(Experiment(loaded.config));
  const Link link{loaded, wanted(all, steps)};
  return repeat(std::span(&link, 1), {}, {}, {}, std::move(variants), progress);
}

VerifyResult verify_run(const std::string& runs_dir, const RunRow& run, std::span<const std::string> overrides, std::int64_t steps, std::vector<Variant> variants, const VerifyProgress& progress) {
  const Store store = Store::open(runs_dir, StoreMode::existing);
  std::vector<Link> line;
  std::int64_t until = wanted(run.step, steps);
  if (until == 0) failf(Category::usage, "run {} has committed no step yet; there is nothing to compare", run.id);
  const std::int64_t last = until;
  for (std::optional<RunRow> at = run; at;) {
    line.insert(line.begin(), Link{recorded(runs_dir, *at, overrides), until});
    if (!at->parent || until <= 0) break;
    until = std::min(until, at->parent->step);
    const std::string id = at->parent->run;
    at = store.run(id);
    if (!at) failf(Category::data, "run {} was forked from {}, which is not in {}; its steps cannot be repeated", run.id, id, runs_dir);
  }
  check_chain(real_files(), chain_path(runs_dir, run.id));
  return repeat(line, chain_path(runs_dir, run.id), "run " + run.id, last == run.step ? run.state_hash : std::string(), std::move(variants), progress);
}

}  // namespace lockstep
