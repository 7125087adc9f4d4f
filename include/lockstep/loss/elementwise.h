// ElementwiseLoss: losses that compare each output with a number of the target and average over a row.
#pragma once

#include "lockstep/loss/loss.h"

namespace lockstep {

/// The loss of a row is the mean over its elements, and each row counts 1: over a batch that is PyTorch's mean reduction.
/// The target has the shape of "logits", which may have one more axis of size 1 at the end ([n, 1] against [n]); a target of
/// another dtype is cast to that of the logits.
class ElementwiseLoss : public Loss {
 public:
  /// `who` names the loss in messages: "loss 'mse'".
  ElementwiseLoss(std::string_view who, const LossContext& c);
  [[nodiscard]] Tensor rows(const Fields& out, const Fields& batch) const final;
  void row_weights(const Fields& batch, std::vector<double>& weights) const final;
  void check(const Fields& out, const Fields& batch) const override;

 protected:
  /// Loss of each element; both [n, ...] of one dtype.
  [[nodiscard]] virtual Tensor elements(const Tensor& logits, const Tensor& target) const = 0;

 private:
  std::string_view who_;
  std::string target_;
};

}  // namespace lockstep
