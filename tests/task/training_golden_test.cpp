// Training from equal weights and batches agrees with PyTorch: f64 over 100 steps to 1e-9, f32 over 10 to 1e-5.
// tests/goldens/make_training_goldens.py made the files.
#include <doctest/doctest.h>

#include <cmath>

#include "components.h"
#include "lockstep/autograd/autograd.h"
#include "lockstep/base/file.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"
#include "lockstep/optim/pipeline.h"
#include "lockstep/task/task.h"
#include "paths.h"
#include "print.h"

using namespace lockstep;

namespace {

struct Golden {
  std::map<std::string, Tensor> tensors;
  Node config;
  std::optional<double> clip;
  std::int64_t batch = 0;
};

Golden read_golden(const std::string& name) {
  Safetensors file = read_safetensors(real_files(), std::string(test::kSourceDir) + "/tests/goldens/training/" + name + ".safetensors");
  Golden g;
  for (TensorEntry& t : file.tensors) g.tensors[t.name] = t.tensor;
  Diagnostics diagnostics;
  g.config = load_yaml(text_source(name + ".yaml", file.metadata.at("config")), diagnostics);
  diagnostics.throw_errors();
  const std::string& clip = file.metadata.at("clip");
  if (!clip.empty()) g.clip = std::stod(clip);
  g.batch = std::stoll(file.metadata.at("batch"));
  return g;
}

template <class Def>
Ref<Def> part(const Golden& g, std::string_view key) {
  Diagnostics diagnostics;
  Reader reader{test::registry(), diagnostics};
  Ref<Def> out;
  read(*g.config.find(key), out, reader);
  diagnostics.throw_errors();
  return out;
}

/// Largest difference relative to the largest value.
double distance(const Tensor& have, const Tensor& want) {
  const auto a = have.to_doubles(), b = want.to_doubles();
  REQUIRE(a.size() == b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(b[i]));
  }
  return size > 0 ? difference / size : difference;
}

void apply_effects(const Effects& effects) {
  for (const Effect& e : effects.list) {
    if (e.statistic) {
      lerp_(e.buffer, e.statistic, e.momentum);
    } else {
      Tensor buffer = e.buffer;
      ++buffer.values<std::int64_t>()[0];
    }
  }
}

/// Trains `steps` steps in dtype `t` from init.* and compares with `state`.* and `curve`.*.
void compare(const std::string& name, DType t, std::int64_t steps, const std::string& state, const std::string& curve, double tolerance) {
  CAPTURE(name);
  CAPTURE(state);
  test::registry();
  const Golden g = read_golden(name);
  const Tensor x = cast(g.tensors.at("x"), t), y = is_floating(g.tensors.at("y").dtype()) ? cast(g.tensors.at("y"), t) : g.tensors.at("y");
  SampleSpec spec = y.dtype() == DType::i64 ? test::classes_spec({x.size(1)}, 4) : test::numbers_spec({x.size(1)}, {y.rank() > 1 ? y.size(1) : 1}, t);
  spec.fields[0].dtype = t;
  const BuiltModel model = build_model(part<ModelDef>(g, "model"), spec, 1, t);
  std::vector<NamedTensor> parameters;
  const auto tensors = model.module->state_tensors();
  for (const NamedTensor& n : tensors) {
    const NoGrad no_history;
    const Tensor init = g.tensors.at("init." + n.name);
    copy_(n.tensor, n.kind == StateKind::parameter || is_floating(n.tensor.dtype()) ? cast(init, t) : init);
    if (n.kind == StateKind::parameter) parameters.push_back(n);
  }
  std::vector<NamedLoss> losses;
  losses.push_back({"main", 1.0, part<LossDef>(g, "loss").make(LossContext{spec, t})});
  const auto task = test::chosen<TaskDef>("supervised").make(TaskContext{*model.module, losses, spec});
  const std::int64_t rows = x.size(0), per_pass = (rows + g.batch - 1) / g.batch;
  OptimPipeline optim(part<OptimizerDef>(g, "optim"), parameters, {.total_steps = 100, .steps_per_epoch = per_pass});

  const Tensor want_loss = g.tensors.at(curve + ".loss"), want_norm = g.tensors.at(curve + ".norm"), want_lr = g.tensors.at(curve + ".lr");
  Tensor loss = Tensor::zeros(want_loss.shape(), DType::f64), norm = loss.detach(), lr = loss.detach();
  norm = Tensor::zeros(want_loss.shape(), DType::f64);
  lr = Tensor::zeros(want_loss.shape(), DType::f64);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t begin = step % per_pass * g.batch;
    Fields all;
    all.set("input", x);
    all.set("target", y);
    const Fields batch = all.rows(begin, std::min(begin + g.batch, rows));
    Effects effects;
    Scope s;
    s.training = true;
    s.effects = &effects;
    const Within within(s);
    const Phase& phase = task->phases()[0];
    const double weight = task->weights(phase, batch)[0];
    const Tensor total_loss = mul_scalar(task->terms(phase, batch)[0].sum, 1 / weight);
    const Tensors grads = gradients(total_loss, optim.parameters());
    const auto at = static_cast<std::size_t>(step);
    loss.values<double>()[at] = total_loss.item();
    norm.values<double>()[at] = clip_grad_norm(grads, g.clip);
    lr.values<double>()[at] = optim.lr(step);
    optim.update(grads, step);
    apply_effects(effects);
  }
  CHECK(distance(lr, want_lr) < 1e-14);
  CHECK(distance(loss, want_loss) < tolerance);
  CHECK(distance(norm, want_norm) < tolerance);
  for (const NamedTensor& n : tensors) {
    CAPTURE(n.name);
    CHECK(distance(n.tensor, g.tensors.at(state + "." + n.name)) < tolerance);
  }
  if (t != DType::f64) return;
  Fields all;
  all.set("input", x);
  CHECK(distance(task->predict(all).at("logits"), g.tensors.at("eval.logits")) < tolerance);
}

constexpr const char* kCases[] = {"norm_residual_sgd", "gelu_adamw_clipped", "mse_sgd_dampening", "bce_adamw_step"};

}  // namespace

TEST_CASE("f64: 100 steps agree with PyTorch to 1e-9") {
  for (const char* name : kCases) compare(name, DType::f64, 100, "f64", "curve64", 1e-9);
}

TEST_CASE("f32: 10 steps agree with PyTorch to 1e-5") {
  for (const char* name : kCases) compare(name, DType::f32, 10, "f32", "curve32", 1e-5);
}
