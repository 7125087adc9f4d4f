// bce_with_logits: binary cross-entropy of sigmoid(logits), in the form that does not overflow.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/loss/elementwise.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<double> pos_weight;
};
constexpr Field kFields[] = {
    field<&Config::pos_weight>("pos_weight", "Factor of the positive part: one number, or one for each value of the last axis; [] is none.").above(0),
};

class BceWithLogits final : public ElementwiseLoss {
 public:
  BceWithLogits(const Config& c, const LossContext& context) : ElementwiseLoss("loss 'bce_with_logits'", context) {
    if (c.pos_weight.empty()) return;
    const auto n = static_cast<std::int64_t>(c.pos_weight.size());
    pos_weight_ = cast(Tensor::of(std::span<const double>(c.pos_weight), {n}), context.dtype);
  }
  void check(const Fields& out, const Fields& batch) const override {
    ElementwiseLoss::check(out, batch);
    const Shape& s = out.at("logits").shape();
    if (pos_weight_ && pos_weight_.numel() != 1 && (s.rank() < 2 || s[s.rank() - 1] != pos_weight_.numel()))
      failf(Category::usage,
            "loss 'bce_with_logits': pos_weight has {} numbers and logits are {}; it takes one number, or as many as the last axis",
            pos_weight_.numel(), text(s));
  }

 protected:
  [[nodiscard]] Tensor elements(const Tensor& x, const Tensor& y) const override {
    if (!pos_weight_) return bce_with_logits(x, y);
    // (1 - y) x + (1 + (w - 1) y) (log1p(exp(-|x|)) + max(-x, 0))
    const Tensor factor = add_scalar(mul(add_scalar(pos_weight_, -1), y), 1);
    const Tensor soft = add(log1p(exp(neg(abs(x)))), relu(neg(x)));
    return add(mul(add_scalar(neg(y), 1), x), mul(factor, soft));
  }

 private:
  Tensor pos_weight_;
};

}  // namespace

extern constinit const LossDef losses_bce_with_logits = component<LossDef, BceWithLogits, Config, kFields>(
    {.doc = "Binary cross-entropy between sigmoid(output) and a target of zeros and ones.",
     .example = "bce_with_logits: {pos_weight: [2.0]}"});

}  // namespace lockstep
