// One optimizer step: shards, losses, the gradient tree, clipping, the update, buffer effects, fingerprint.
#pragma once

#include "lockstep/base/nh128.h"
#include "lockstep/data/fields.h"
#include "lockstep/runtime/experiment.h"

namespace lockstep {

struct StepResult {
  double loss = 0;                     // sum_j coef_j * sum_s L_js / W_j, in f64
  double grad_norm = 0;                // before clipping
  double lr = 0;
  Nh128 fingerprint;                   // of the name-sorted state after the step
};

/// Runs steps on an experiment. Holds references and scratch; no state that a later step depends on.
class Stepper {
 public:
  explicit Stepper(Experiment& e);
  /// The step that consumes `batch` (whose `step` is the 0-based global step). Throws usage when all rows of the batch
  /// are ignored by a loss, numeric when loss or gradient norm is not finite (the state is then as before the step).
  StepResult run(const Batch& batch);
  /// NH-128 over parameters and buffers, sorted by name, each record padded to whole pairs of words.
  [[nodiscard]] Nh128 fingerprint() const;

 private:
  struct Shard;
  Tensors shard_gradients(const Fields& rows, std::int64_t step, std::uint32_t shard, std::span<const double> totals, Shard& out);
  void apply_effects(std::span<const Shard> shards);

  Experiment& e_;
  const Phase& phase_;
};

}  // namespace lockstep
