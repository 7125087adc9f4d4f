// supervised: the model reads the input fields; every loss compares its output with the target.
#include "lockstep/task/task.h"

namespace lockstep {
namespace {

struct Config {};
constexpr Phase kPhases[] = {{"main", "main", 1}};

class Supervised final : public Task {
 public:
  Supervised(const Config&, const TaskContext& c) : model_(c.model), losses_(c.losses) {
    for (const FieldSpec& f : c.spec.fields)
      if (f.role == FieldRole::input) inputs_.push_back(f.name);
  }

  [[nodiscard]] std::span<const Phase> phases() const override { return kPhases; }

  [[nodiscard]] std::vector<Term> terms(const Phase&, const Fields& batch) const override {
    const Fields out = outputs(batch);
    std::vector<Term> terms;
    terms.reserve(losses_.size());
    for (const NamedLoss& l : losses_) terms.push_back({l.id, l.coef, l.loss->sum(out, batch)});
    return terms;
  }

  [[nodiscard]] std::vector<double> weights(const Phase&, const Fields& batch) const override {
    std::vector<double> weights;
    weights.reserve(losses_.size());
    for (const NamedLoss& l : losses_) weights.push_back(l.loss->weight(batch));
    return weights;
  }

  [[nodiscard]] Fields predict(const Fields& batch) const override {
    Scope evaluation = scope;
    evaluation.grad = false;
    evaluation.training = false;
    evaluation.effects = nullptr;
    const Within within(evaluation);
    return outputs(batch);
  }

 private:
  [[nodiscard]] Fields outputs(const Fields& batch) const {
    Tensors in;
    in.reserve(inputs_.size());
    for (const std::string& name : inputs_) in.push_back(batch.at(name));
    Fields out;
    out.set("logits", std::move(model_(in)[0]));
    return out;
  }

  const Module& model_;
  std::span<const NamedLoss> losses_;
  std::vector<std::string> inputs_;
};

}  // namespace

extern constinit const TaskDef tasks_supervised = component<TaskDef, Supervised, Config, kNoFields>(
    {.doc = "The model reads the input fields and every loss compares its output with the target.", .example = "supervised"});

}  // namespace lockstep
