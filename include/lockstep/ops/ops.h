// The ops as functions, one line each; shapes and rules stand in each op's doc (src/ops/<family>.cpp).
#pragma once

#include "lockstep/tensor/op.h"

namespace lockstep {

// elementwise.cpp: floating, broadcast like NumPy; both sides of a binary op have one dtype
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor add_scalar(const Tensor& x, double s);
Tensor mul_scalar(const Tensor& x, double s);

// unary.cpp
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);

// activation.cpp
Tensor relu(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor gelu(const Tensor& x);                 // exact form, x * Phi(x)

// comparison.cpp: -> bool; any dtype, broadcast
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);      // condition is bool; a and b have one dtype

// view.cpp: share storage
Tensor reshape(const Tensor& x, const Shape& s);   // one extent may be -1; copies when the layout forces it
Tensor permute(const Tensor& x, const Shape& axes);
Tensor transpose(const Tensor& x, std::int64_t a = -2, std::int64_t b = -1);
Tensor expand(const Tensor& x, const Shape& s);
Tensor narrow(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t length);
Tensor flatten(const Tensor& x, std::int64_t start = 1, std::int64_t end = -1);

// memory.cpp
Tensor contiguous(const Tensor& x);                // itself when it already is
Tensor cast(const Tensor& x, DType t);             // itself when it already is
Tensor fill(const Shape& s, double value, DType t = DType::f32, Device d = Device::cpu);
Tensor pad_axis(const Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after);   // zeros; derivative of narrow
void copy_(const Tensor& to, const Tensor& from);  // writes `to`

// reduction.cpp: `axes` empty = all
Tensor sum(const Tensor& x, const Shape& axes = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const Shape& axes = {}, bool keepdim = false);
Tensor var(const Tensor& x, const Shape& axes = {}, bool keepdim = false, bool unbiased = false);
Tensor amax(const Tensor& x, const Shape& axes = {}, bool keepdim = false);
Tensor argmax(const Tensor& x, std::int64_t axis, bool keepdim = false);      // i64; ties: lowest index
Tensor total(const Tensor& x);                     // f64 scalar, accumulated in f64 (NUMERICS A5)
Tensor sum_squares(const Tensor& x);               // f64 scalar: elements widened, squared and accumulated in f64

// linalg.cpp
Tensor matmul(const Tensor& a, const Tensor& b);   // [m, k] x [k, n] -> [m, n]; any strides (A3)
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);     // [..., in], [out, in], [out]? -> [..., out]

// softmax.cpp: over the last axis
Tensor softmax(const Tensor& x);
Tensor log_softmax(const Tensor& x);

// loss.cpp
/// Per-row loss [n] of logits [n, c] and target [n] (i64); weight [c]?; rows with target == ignore_index are 0.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight, double label_smoothing, std::int64_t ignore_index);
Tensor bce_with_logits(const Tensor& logits, const Tensor& target);           // elementwise

// normalization.cpp: batch statistics of x [n, c] or [n, c, l] -> {y, mean [c], biased variance [c]}
Tensors batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps);

// dropout.cpp
Tensor dropout(const Tensor& x, double p);         // draws next_key() in training; identity otherwise

// index.cpp
Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& index);
Tensor index_add(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& source);   // sums in source order (A7)
Tensor one_hot(const Tensor& index, std::int64_t classes, DType t = DType::f32);

// optim_step.cpp: write parameters and slots in place; formulas in the op's doc
void sgd_step(const Tensor& param, const Tensor& grad, const Tensor& momentum_buffer, double lr, double momentum, double dampening, double weight_decay, bool nesterov, bool first);
void adamw_step(const Tensor& param, const Tensor& grad, const Tensor& exp_avg, const Tensor& exp_avg_sq, double lr, double beta1, double beta2, double eps, double weight_decay, std::int64_t update);
/// buffer = (1 - momentum) * buffer + momentum * statistic, in place.
void lerp_(const Tensor& buffer, const Tensor& statistic, double momentum);
/// x *= s, in place.
void scale_(const Tensor& x, double s);

// fingerprint.cpp: NH-128 of a contiguous tensor's words at word position `first` -> i64 [2] (the two sums' bits)
Tensor nh128(const Tensor& x, std::int64_t first);

}  // namespace lockstep
