// adamw: Adam with decoupled weight decay (Loshchilov and Hutter 2019), in the form of torch.optim.AdamW.
#include "lockstep/ops/ops.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
};
constexpr Field kFields[] = {
    field<&Config::betas>("betas", "Parts of the first and second moment that are kept each step.").from_below(0, 1).items(2, 2),
    field<&Config::eps>("eps", "Added to the square root of the second moment.").above(0),
    field<&Config::weight_decay>("weight_decay", "Each step first shrinks the parameters by lr times this.").at_least(0),
};
constexpr std::string_view kSlots[] = {"exp_avg", "exp_avg_sq"};

class AdamW final : public Optimizer {
 public:
  explicit AdamW(const Config& c) : c_(c) {}
  [[nodiscard]] std::span<const std::string_view> slots() const override { return kSlots; }
  void update(std::span<OptimSlot> all, const StepInfo& info) const override {
    for (OptimSlot& s : all)
      adamw_step(s.param, s.grad, s.state[0], s.state[1], info.lr, c_.betas[0], c_.betas[1], c_.eps, c_.weight_decay, info.update);
  }

 private:
  Config c_;
};

}  // namespace

extern constinit const OptimizerDef optimizers_adamw = component<OptimizerDef, AdamW, Config, kFields>(
    {.doc = "Adam with decoupled weight decay, as torch.optim.AdamW.", .example = "adamw: {lr: 1e-3, weight_decay: 0.01}"});

}  // namespace lockstep
