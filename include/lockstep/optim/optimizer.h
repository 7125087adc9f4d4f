// Optimizer: updates parameters in place from gradients and its own slots. Stateless itself: slots are handed in.
#pragma once

#include <optional>

#include "lockstep/optim/schedule.h"
#include "lockstep/state/visitor.h"
#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// Keys every optimizer has, beside its own.
struct OptimCommon {
  double lr = 1e-3;                                     // > 0
  Ref<ScheduleDef> schedule{};                          // default: constant
};
inline constexpr Field kOptimCommonFields[] = {
    field<&OptimCommon::lr>("lr", "Learning rate: the step size that the schedule scales.").above(0),
    field<&OptimCommon::schedule>("schedule", "How lr changes over the steps.").otherwise("constant"),
};
constexpr std::span<const Field> fields_of(const OptimCommon*) { return kOptimCommonFields; }

/// One parameter's turn: same shape and dtype throughout.
struct OptimSlot {
  std::string_view name;                                // canonical parameter name
  Tensor param, grad;
  std::span<Tensor> state;                              // in the order of Optimizer::slots(); zeros before the first update
};
struct StepInfo {
  double lr = 0;
  std::int64_t update = 1;                              // 1-based count of updates made, this one included (bias correction)
};

class Optimizer {
 public:
  static constexpr std::string_view kKind = "optimizers";
  static constexpr std::string_view kWord = "optim";
  using Common = OptimCommon;
  virtual ~Optimizer() = default;
  /// Names of the per-parameter state, PyTorch's: "momentum_buffer", "exp_avg", "exp_avg_sq".
  [[nodiscard]] virtual std::span<const std::string_view> slots() const = 0;
  /// Updates every parameter of `all` in place. History is off.
  virtual void update(std::span<OptimSlot> all, const StepInfo& info) const = 0;
};
using OptimizerDef = ComponentOf<Optimizer>;

}  // namespace lockstep
