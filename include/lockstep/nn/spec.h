// What models, losses and metrics read from the data's spec.
#pragma once

#include "lockstep/data/fields.h"

namespace lockstep {

/// Input fields as a model sees them, in the order of the spec, with a batch axis of `rows`. Throws usage without one.
std::vector<Meta> input_metas(const SampleSpec& spec, std::int64_t rows);
/// Every field of the spec as meta tensors with a batch axis of `rows`: what check() functions look at.
Fields meta_fields(const SampleSpec& spec, std::int64_t rows);
/// Name of the first target field. Throws usage when the data has none; `who` needs it ("loss 'mse'").
std::string target_name(const SampleSpec& spec, std::string_view who);

/// Checks logits [n, classes] against target [n] of int64. `who` stands first in the message. Throws usage: both shapes,
/// the rule, and what to change.
void check_classes(std::string_view who, const Tensor& logits, const Tensor& target, std::int64_t num_classes);

}  // namespace lockstep
