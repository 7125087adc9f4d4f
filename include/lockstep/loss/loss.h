// Loss: a value per row and, from the data alone, what each row counts. Sums and weights are divided by the step.
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
  static constexpr std::string_view kWord = "loss";
  static constexpr Beside kBeside = {.coef = true};
  virtual ~Loss() = default;
  /// Loss of each row of the batch, [n], with history; rows that do not count are exactly 0.
  [[nodiscard]] virtual Tensor rows(const Fields& out, const Fields& batch) const = 0;
  /// Appends what each row counts (1, its class weight, or 0 when ignored). From the data alone, never the model.
  virtual void row_weights(const Fields& batch, std::vector<double>& weights) const = 0;
  /// w of NUMERICS "Shards": row weights added with the tree of A4.
  [[nodiscard]] double weight(const Fields& batch) const;
  /// The rows' sum as an f64 scalar with history (op `total`).
  [[nodiscard]] Tensor sum(const Fields& out, const Fields& batch) const;
  /// Checks the shapes once, at preflight, on metas. Throws usage: both shapes and the rule.
  virtual void check(const Fields& out, const Fields& batch) const = 0;
};
using LossDef = ComponentOf<Loss, const LossContext&>;

}  // namespace lockstep
