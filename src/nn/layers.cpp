// The layers that models build themselves.
#include "lockstep/nn/layers.h"

namespace lockstep {

Linear::Linear(const LinearConfig& c, const BuildContext& b)
    : Module(b),
      weight_(parameter("weight", {c.out_features, b.in_features()}, Init::kaiming_uniform())),
      bias_(c.bias ? parameter("bias", {c.out_features}, Init::bias_uniform(b.in_features())) : Tensor{}) {}

Tensors Linear::forward(std::span<const Tensor> in) const { return {linear(in[0], weight_, bias_)}; }

Tensors Dropout::forward(std::span<const Tensor> in) const { return {dropout(in[0], p_)}; }

}  // namespace lockstep
