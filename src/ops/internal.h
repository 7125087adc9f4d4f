// Ops that only derivative rules call, and small helpers of those rules.
#pragma once

#include "lockstep/ops/ops.h"

namespace lockstep {

Tensor relu_backward(const Tensor& g, const Tensor& x);
Tensor gelu_backward(const Tensor& g, const Tensor& x);
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& target, const Tensor& weight, const Tensor& g,
                              double label_smoothing, std::int64_t ignore_index);

/// A rank-0 constant of x's dtype, for ops that broadcast.
inline Tensor constant_like(const Tensor& x, double value) { return fill({}, value, x.dtype()); }

}  // namespace lockstep
