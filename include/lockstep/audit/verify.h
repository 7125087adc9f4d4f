// Verify: a run repeated under other nuisance values must give the same chain, step by step.
#pragma once

#include <functional>

#include "lockstep/base/cpu.h"
#include "lockstep/runtime/run_config.h"
#include "lockstep/track/rows.h"

namespace lockstep {

/// The nuisance values of one repetition.
struct Variant {
  int threads = 1;
  std::int64_t workers = 0;
  Isa isa = Isa::scalar;
  std::int64_t shards_per_pass = 1;
  std::optional<std::int64_t> resume_at{};   // stop after this step, then go on from the checkpoint
};
struct VariantResult {
  Variant variant;
  std::string state_hash, chain_hash;
  bool equal = false;
  std::string difference;                    // "step 17: batch", empty when equal
};
struct VerifyResult {
  bool equal = true;
  std::int64_t steps = 0;
  std::string reference, state_hash;         // what was compared with: a run id, or "variant 1"
  std::vector<VariantResult> variants;
};

/// A small covering set for a run of `steps` steps: threads 1, 2, 3, 7; workers 0, 1, 4, 2; every instruction set of this
/// CPU; resume after the first, a middle and the last but one step, where a run has these.
std::vector<Variant> default_variants(std::int64_t steps);

using VerifyProgress = std::function<void(const VariantResult&)>;

/// Both throw interrupted when a signal arrives meanwhile (where signals are watched); everything written is removed.
/// Repeats `loaded` for at most `steps` steps (0: the whole run) and compares every chain with the first one's.
VerifyResult verify_config(const LoadedConfig& loaded, std::int64_t steps, std::vector<Variant> variants, const VerifyProgress& progress);
/// Repeats a recorded run (and, for a child, its parents first) and compares with its own chain. `overrides` may say where
/// data now lie; anything that decides bits is refused. Throws data when config or data files are no longer those of the
/// run, mismatch when its chain was changed after it was written.
VerifyResult verify_run(const std::string& runs_dir, const RunRow& run, std::span<const std::string> overrides, std::int64_t steps, std::vector<Variant> variants, const VerifyProgress& progress);

}  // namespace lockstep
