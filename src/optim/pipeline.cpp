// An optimizer with its schedule and slots; gradient clipping.
#include "lockstep/optim/pipeline.h"

#include <cmath>

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/base/fold.h"
#include "lockstep/ops/ops.h"

namespace lockstep {

struct OptimPipeline::Impl {
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;                   // null: constant
  ScheduleCommon schedule_common;
  double base_lr = 0;
  Counters counters;
  std::vector<std::string> names;                       // in name order, as parameters and all
  Tensors parameters;
  std::vector<Tensors> slots;                           // a parameter's state, in the order of Optimizer::slots()
  std::vector<OptimSlot> all;                           // rebuilt handles would cost a step its time: kept, grads swapped
  std::int64_t updates = 0;
};

OptimPipeline::OptimPipeline(const Ref<OptimizerDef>& chosen, std::vector<NamedTensor> parameters, const Counters& counters)
    : impl_(std::make_unique<Impl>()) {
  if (parameters.empty())
    failf(Category::usage, "{} has no parameter to update: the model has none; a model needs a layer with parameters", chosen.shown());
  Impl& m = *impl_;
  m.optimizer = chosen.make();
  const auto& common = chosen.common_as<OptimizerDef>();
  m.base_lr = common.lr;
  if (common.schedule) {
    m.schedule = common.schedule.make();
    m.schedule_common = common.schedule.common_as<ScheduleDef>();
  }
  m.counters = counters;
  std::ranges::sort(parameters, {}, &NamedTensor::name);
  const std::size_t slots = m.optimizer->slots().size();
  for (NamedTensor& p : parameters) {
    Tensors state;
    for (std::size_t s = 0; s < slots; ++s) state.push_back(Tensor::zeros(p.tensor.shape(), p.tensor.dtype(), p.tensor.device()));
    m.names.push_back(std::move(p.name));
    m.parameters.push_back(std::move(p.tensor));
    m.slots.push_back(std::move(state));
  }
  for (std::size_t i = 0; i < m.names.size(); ++i) m.all.push_back({m.names[i], m.parameters[i], {}, m.slots[i]});
}

OptimPipeline::~OptimPipeline() = default;

const Tensors& OptimPipeline::parameters() const { return impl_->parameters; }

double OptimPipeline::lr(std::int64_t step) const {
  const Impl& m = *impl_;
  return m.schedule ? scheduled_lr(*m.schedule, m.schedule_common, m.base_lr, step, m.counters) : m.base_lr;
}

void OptimPipeline::update(std::span<const Tensor> grads, std::int64_t step) {
  Impl& m = *impl_;
  if (grads.size() != m.all.size())
    failf(Category::internal, "the optimizer has {} parameters and was given {} gradients; it takes one each, in their order", m.all.size(), grads.size());
  const NoGrad no_history;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].shape() != m.parameters[i].shape() || grads[i].dtype() != m.parameters[i].dtype())
      failf(Category::internal, "parameter '{}' is {} {} and its gradient {} {}; they must agree", m.names[i],
            text(m.parameters[i].dtype()), text(m.parameters[i].shape()), text(grads[i].dtype()), text(grads[i].shape()));
    m.all[i].grad = grads[i];
  }
  m.optimizer->update(m.all, {lr(step), m.updates + 1});
  ++m.updates;
  for (OptimSlot& s : m.all) s.grad = {};
}

std::int64_t OptimPipeline::updates() const { return impl_->updates; }

void OptimPipeline::state(StateVisitor& v) {
  Impl& m = *impl_;
  const std::span<const std::string_view> slots = m.optimizer->slots();
  for (std::size_t i = 0; i < m.names.size(); ++i)
    for (std::size_t s = 0; s < slots.size(); ++s) v.tensor(fmt::format("{}.{}", m.names[i], slots[s]), m.slots[i][s], StateKind::slot);
  v.integer("updates", m.updates);
}

double clip_grad_norm(std::span<const Tensor> grads, std::optional<double> max_norm) {
  const NoGrad no_history;
  std::vector<double> squares;
  squares.reserve(grads.size());
  for (const Tensor& g : grads) squares.push_back(sum_squares(g).item());
  const double norm = std::sqrt(fold_sum(squares));
  if (max_norm) {
    const double factor = *max_norm / (norm + 1e-6);
    if (!(factor >= 1.0))                               // a norm of NaN makes the gradients NaN, as it should
      for (const Tensor& g : grads) scale_(g, factor);
  }
  return norm;
}

}  // namespace lockstep
