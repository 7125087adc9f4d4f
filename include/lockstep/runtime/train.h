// Training a run from its config to its last commit: new, resumed or forked.
#pragma once

#include "lockstep/base/cpu.h"
#include "lockstep/base/file.h"
#include "lockstep/runtime/observer.h"
#include "lockstep/runtime/run_config.h"
#include "lockstep/track/rows.h"

namespace lockstep {

/// none: a new run. automatic: continue the newest run of this name, or start one. run: continue exactly `resume_run`.
enum class ResumeMode : std::uint8_t { none, automatic, run };

struct TrainOptions {
  std::string runs_dir = "runs";
  ResumeMode resume = ResumeMode::none;
  std::string resume_run{};                // a run id, unique prefix, name or `last`
  bool fork = false;                       // resuming under another identity makes a child run
  bool fresh = false;                      // --new: start a new run even where resume would find one
  int threads = 0;                         // 0: as many as this process may run on
  std::optional<Isa> isa{};                // none: the widest this CPU has
  FileSystem* files = nullptr;             // null: the operating system's
};

struct TrainResult {
  std::string run, reason;                 // reason: why it stopped early
  RunStatus status = RunStatus::finished;
  std::int64_t step = 0, epoch = 0;
  std::string state_hash, chain_hash;      // hex
  bool already_complete = false;           // nothing was left to do
  int exit_code = 0;                       // 0, or 130 after an interrupt
};

/// Trains. Throws usage (config, identity differs), data, numeric (after the last commit stands), resource, mismatch.
TrainResult train(const LoadedConfig& loaded, const TrainOptions& options, Observer& observer);

/// Applies threads and instruction set to this process; throws resource when the CPU lacks the set.
void apply_process_options(int threads, std::optional<Isa> isa);

}  // namespace lockstep
