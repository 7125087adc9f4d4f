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
  /// All equal; none when the step has no logged value.
  [[nodiscard]] std::optional<bool> matches_logged() const;
};

/// Loads `which` (last, best or a step) of `run` into the model of `e` and evaluates data.val (or data.test when `split` is
/// "test"). Logged values are read afterwards. Throws data (no such checkpoint, damaged), usage (weights do not fit the
/// config), mismatch (weights do not hash to what the checkpoint says).
EvalReport evaluate_run(Experiment& e, Store& store, const RunRow& run, std::string_view which, std::string_view split);

}  // namespace lockstep
