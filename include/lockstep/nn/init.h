// Initialisers: a parameter's first value is a function of (seed, canonical name, shape), nothing else.
#pragma once

#include <string_view>

#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// kaiming_uniform: PyTorch's nn.Linear default, U(-b, b), b = 1 / sqrt(fan_in) (fan_in: product of all axes but the first).
/// bias_uniform: U(-b, b) with the fan_in given separately. Sources: He et al. 2015; torch.nn.Linear.reset_parameters.
struct Init {
  enum class Kind : std::uint8_t { zeros, ones, kaiming_uniform, bias_uniform, normal } kind = Kind::zeros;
  double value = 0;                                     // bias_uniform: fan_in; normal: standard deviation
  static constexpr Init zeros() { return {Kind::zeros, 0}; }
  static constexpr Init ones() { return {Kind::ones, 0}; }
  static constexpr Init kaiming_uniform() { return {Kind::kaiming_uniform, 0}; }
  static constexpr Init bias_uniform(std::int64_t fan_in) { return {Kind::bias_uniform, static_cast<double>(fan_in)}; }
  static constexpr Init normal(double std) { return {Kind::normal, std}; }
};
/// Fills the contiguous f32 or f64 tensor `t` (element e of the stream is counter block e / 4, word e % 4).
void initialize(Tensor& t, Init init, std::uint64_t seed, std::string_view canonical_name);

}  // namespace lockstep
