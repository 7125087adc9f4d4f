// Transform: one stage of the per-sample pipeline. Acts on fields by role.
#pragma once

#include "lockstep/base/philox.h"
#include "lockstep/data/dataset.h"
#include "lockstep/state/visitor.h"

namespace lockstep {

class Transform {
 public:
  static constexpr std::string_view kKind = "transforms";
  virtual ~Transform() = default;
  /// The spec of what apply() writes. Throws usage where the transform does not fit: names field, shape, dtype and the rule.
  [[nodiscard]] virtual SampleSpec spec(const SampleSpec& in) const = 0;
  /// Learns statistics from the training split (raw samples); once per run, before the first step.
  virtual void fit(const Dataset&) {}
  /// Rewrites fields of `s`. `key` is a function of (seed, epoch, sample, position of the transform in its list).
  virtual void apply(Sample& s, PhiloxKey key) const = 0;
  /// Fitted state: part of the run's identity.
  virtual void state(StateVisitor&) {}
};
using TransformDef = ComponentOf<Transform>;

}  // namespace lockstep
