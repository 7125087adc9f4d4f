// mse: the squared difference, averaged over a row's elements.
#include "lockstep/loss/elementwise.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {};

class Mse final : public ElementwiseLoss {
 public:
  Mse(const Config&, const LossContext& c) : ElementwiseLoss("loss 'mse'", c) {}

 protected:
  [[nodiscard]] Tensor elements(const Tensor& logits, const Tensor& target) const override {
    const Tensor d = sub(logits, target);
    return mul(d, d);
  }
};

}  // namespace

extern constinit const LossDef losses_mse = component<LossDef, Mse, Config, kNoFields>(
    {.doc = "Mean squared error between the model's output and the target.", .example = "mse"});

}  // namespace lockstep
