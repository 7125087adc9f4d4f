// sgd: stochastic gradient descent with momentum (Sutskever et al. 2013), in the form of torch.optim.SGD.
#include "lockstep/ops/ops.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {
namespace {

struct Config {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  [[nodiscard]] std::string problem() const {
    if (nesterov && (momentum == 0 || dampening != 0))
      return fmt::format("nesterov: true needs momentum above 0 and dampening 0; momentum is {} and dampening {}", momentum, dampening);
    if (dampening != 0 && momentum == 0) return fmt::format("dampening is {} and momentum 0: it has no effect without momentum", dampening);
    return {};
  }
};
constexpr Field kFields[] = {
    field<&Config::momentum>("momentum", "Part of the velocity that is kept each step.").from_below(0, 1),
    field<&Config::dampening>("dampening", "The gradient enters the velocity times 1 - dampening.").in(0, 1),
    field<&Config::nesterov>("nesterov", "Look ahead along the velocity."),
    field<&Config::weight_decay>("weight_decay", "L2 penalty: this times the parameter is added to the gradient.").at_least(0),
};
constexpr std::string_view kSlots[] = {"momentum_buffer"};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const Config& c) : c_(c) {}
  [[nodiscard]] std::span<const std::string_view> slots() const override {
    return c_.momentum > 0 ? std::span<const std::string_view>(kSlots) : std::span<const std::string_view>();
  }
  void update(std::span<OptimSlot> all, const StepInfo& info) const override {
    for (OptimSlot& s : all)
      sgd_step(s.param, s.grad, c_.momentum > 0 ? s.state[0] : Tensor{}, info.lr, c_.momentum, c_.dampening, c_.weight_decay,
               c_.nesterov, info.update == 1);
  }

 private:
  Config c_;
};

}  // namespace

extern constinit const OptimizerDef optimizers_sgd = component<OptimizerDef, Sgd, Config, kFields>(
    {.doc = "Stochastic gradient descent with momentum, as torch.optim.SGD.", .example = "sgd: {lr: 0.1, momentum: 0.9}"});

}  // namespace lockstep
