// Evaluating a run again: the metrics of its weights, and whether they are what was logged.
#pragma once

#include "lockstep/runtime/experiment.h"
#include "lockstep/runtime/evaluate.h"
#include "lockstep/track/store.h"

namespace lockstep {

struct EvalReport {
  std::string run, checkpoint;               // id; the file that was read
  std::int64_t step = 0;
  std::string state_hash;                    // of the loaded weights
  Evaluation evaluation;
  struct Logged {
    std::string name;
    std::optional<double> value;             // none: nothing was logged at this step
    bool equal = false;                      // bit for bit
  };
  std::vector<Logged> logged;
  std::string not_compared;                  // why overrides leave nothing to compare with; empty: compared
  /// All equal; none when the step has no logged value, or nothing was compared.
  [[nodiscard]] std::optional<bool> matches_logged() const;
};

/// Loads `which` (last, best or a step) of `run` into the model of `e` and evaluates data.val (or data.test when `split` is
/// "test"). Logged values are read afterwards. `changed`: the caller changed the run's config on purpose; where that makes
/// another experiment, nothing is compared. Without it config and data files must still be those of the run.
/// Throws data (no such checkpoint, damaged; config.yaml or data files have changed), usage (weights do not fit the
/// config), mismatch (weights do not hash to what the checkpoint says), interrupted.
EvalReport evaluate_run(Experiment& e, Store& store, const RunRow& run, std::string_view which, std::string_view split, bool changed);

/// The newest run of e's name that trains what `e` trains. Throws usage: none has the name; or each would train something
/// else, with the differences to the newest.
RunRow find_run_of(Experiment& e, const Store& store);

}  // namespace lockstep
