// Initialisers: a parameter's first value is a function of (seed, canonical name, shape), nothing else.
#pragma once

#include <string_view>

#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// kaiming_uniform: PyTorch's default for nn.Linear (kaiming_uniform_ with a = sqrt(5)): U[-b, b), b = 1 / sqrt(fan_in),
/// fan_in the product of all axes but the first. bias_uniform: U[-b, b) with the fan_in given separately.
/// Sources: He et al. 2015; torch.nn.Linear.reset_parameters. The distributions are PyTorch's, the values are ours.
struct Init {
  enum class Kind : std::uint8_t { zeros, ones, kaiming_uniform, bias_uniform, normal } kind = Kind::zeros;
  double value = 0;                                     // bias_uniform: fan_in; normal: standard deviation
  static constexpr Init zeros() { return {Kind::zeros, 0}; }
  static constexpr Init ones() { return {Kind::ones, 0}; }
  static constexpr Init kaiming_uniform() { return {Kind::kaiming_uniform, 0}; }
  static constexpr Init bias_uniform(std::int64_t fan_in) { return {Kind::bias_uniform, static_cast<double>(fan_in)}; }
  static constexpr Init normal(double std) { return {Kind::normal, std}; }
};
/// Fills the contiguous f32 or f64 tensor `t`. Element e takes word e % 4 of the block with counter {e / 4, 0, 0, 0} (its high
/// half in the second word) and the key (seed, "init", name); normal: words 0, 1 give elements 0, 1 and words 2, 3 elements
/// 2, 3 (normal_pair). Computed in f64 and rounded once.
void initialize(Tensor& t, Init init, std::uint64_t seed, std::string_view canonical_name);

}  // namespace lockstep
