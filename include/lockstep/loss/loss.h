// Loss: per shard a sum and, from the data alone, the weight that sum is divided by.
#pragma once

#include "lockstep/component/component.h"
#include "lockstep/data/fields.h"

namespace lockstep {

/// What a factory knows: the data's spec (classes) and the dtype of the model's outputs.
struct LossContext {
  const SampleSpec& spec;
  DType dtype = DType::f32;
};

class Loss {
 public:
  static constexpr std::string_view kKind = "losses";
  virtual ~Loss() = default;
  /// w of NUMERICS "Shards": rows that count, or the sum of their class weights. Never depends on the model.
  [[nodiscard]] virtual double weight(const Fields& batch) const = 0;
  /// The sum over the rows of `batch` as an f64 scalar with history (op `total`).
  [[nodiscard]] virtual Tensor sum(const Fields& out, const Fields& batch) const = 0;
  /// Checks the shapes once, at preflight, on metas. Throws usage: both shapes and the rule.
  virtual void check(const Fields& out, const Fields& batch) const = 0;
};
using LossDef = ComponentOf<Loss, const LossContext&>;

}  // namespace lockstep
