// Task: the algorithm of a step. `supervised` is the default.
#pragma once

#include "lockstep/loss/loss.h"
#include "lockstep/nn/module.h"

namespace lockstep {

/// One optimizer's turn within a step.
struct Phase {
  std::string_view name, optimizer;                     // "main", id in optims
  int every = 1;                                        // steps between turns
};
/// One loss of a phase on one shard.
struct Term {
  std::string_view id;                                  // id in losses
  double coef = 1;
  Tensor sum;                                           // f64 scalar with history
};
struct NamedLoss {
  std::string id;
  double coef = 1;
  std::unique_ptr<Loss> loss;
};
/// What a task works on; outlives it.
struct TaskContext {
  const Module& model;
  std::span<const NamedLoss> losses;
  const SampleSpec& spec;
};

class Task {
 public:
  static constexpr std::string_view kKind = "tasks";
  virtual ~Task() = default;
  [[nodiscard]] virtual std::span<const Phase> phases() const = 0;
  /// Runs the model on one shard and returns the losses' sums, one per loss, in their order.
  [[nodiscard]] virtual std::vector<Term> terms(const Phase& p, const Fields& batch) const = 0;
  /// Weight of each loss on a shard, from the data alone, in the order of terms().
  [[nodiscard]] virtual std::vector<double> weights(const Phase& p, const Fields& batch) const = 0;
  /// Outputs for evaluation: field "logits".
  [[nodiscard]] virtual Fields predict(const Fields& batch) const = 0;
};
using TaskDef = ComponentOf<Task, const TaskContext&>;

}  // namespace lockstep
