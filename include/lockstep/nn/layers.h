// The layers that models build themselves, as C++ classes: linear, dropout, pointwise functions.
#pragma once

#include "lockstep/nn/module.h"
#include "lockstep/ops/ops.h"

namespace lockstep {

struct LinearConfig {
  std::int64_t out_features = 0;
  bool bias = true;
};
/// y = x Wᵀ + b over the last axis: x [..., in] -> [..., out]. Parameters weight [out, in] and bias [out], both U[-k, k) with
/// k = 1 / sqrt(in), as torch.nn.Linear.
class Linear final : public Module {
 public:
  Linear(const LinearConfig& c, const BuildContext& b);

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override;

 private:
  Tensor weight_, bias_;
};

struct DropoutConfig {
  double p = 0.5;
};
/// While training, zeroes each element with probability p and scales the others by 1 / (1 - p); otherwise the identity.
class Dropout final : public Module {
 public:
  Dropout(const DropoutConfig& c, const BuildContext& b) : Module(b), p_(c.p) {}

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override;

 private:
  double p_;
};

/// The config of a layer without keys.
struct NoConfig {};
/// y = F(x), elementwise.
template <Tensor (*F)(const Tensor&)>
class Pointwise final : public Module {
 public:
  Pointwise(const NoConfig&, const BuildContext& b) : Module(b) {}

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override { return {F(in[0])}; }
};

}  // namespace lockstep
