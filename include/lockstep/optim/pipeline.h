// OptimPipeline: an optimizer, its schedule and the slots of the parameters it owns.
#pragma once

#include "lockstep/nn/module.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {

class OptimPipeline {
 public:
  /// `parameters` in name order; slots start at zero. Throws usage when there is no parameter.
  OptimPipeline(const Ref<OptimizerDef>& chosen, std::vector<NamedTensor> parameters, const Counters& counters);
  ~OptimPipeline();
  OptimPipeline(const OptimPipeline&) = delete;
  OptimPipeline& operator=(const OptimPipeline&) = delete;

  [[nodiscard]] const Tensors& parameters() const;       // in name order
  /// Learning rate at optimizer step `step` (0-based).
  [[nodiscard]] double lr(std::int64_t step) const;
  /// One update with `grads` in the order of parameters(), at 0-based step `step`. History is off.
  void update(std::span<const Tensor> grads, std::int64_t step);
  [[nodiscard]] std::int64_t updates() const;            // made so far
  /// Slots as "<parameter>.<slot>" and the counter "updates".
  void state(StateVisitor& v);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Scales `grads` in place so that their global L2 norm is at most `max_norm`: factor min(1, max_norm / (norm + 1e-6)),
/// as torch.nn.utils.clip_grad_norm_. Returns the norm before, in f64 (A5), over the tensors in their order.
/// `max_norm` none: only measures.
double clip_grad_norm(std::span<const Tensor> grads, std::optional<double> max_norm);

}  // namespace lockstep
