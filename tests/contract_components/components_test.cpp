// Every component of the catalogue: its definition is sound, its example parses, builds and works, its state comes back.
#include <doctest/doctest.h>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/component/canonical.h"
#include "lockstep/hook/hook.h"
#include "lockstep/loss/loss.h"
#include "lockstep/metric/metric.h"
#include "lockstep/nn/spec.h"
#include "lockstep/optim/pipeline.h"
#include "lockstep/state/save_load.h"
#include "lockstep/task/task.h"
#include "print.h"

using namespace lockstep;

namespace {

/// Calls f(Ref, row) for the example of every component of a kind.
template <class Def, class F>
void each(F&& f) {
  std::size_t n = 0;
  for (const ManifestRow& row : builtin_components()) {
    if (row.kind != Def::Kind::kKind) continue;
    ++n;
    CAPTURE(row.file);
    const Ref<Def> example = test::item<Def>(row.def->example);
    CHECK(example.name == row.name);
    CHECK(example.def == row.def);
    f(example, row);
  }
  CHECK(n > 0);
}

/// What `o` saves, as a checkpoint.
template <class T>
Checkpoint saved(T& o) {
  Checkpoint c;
  StateSaver saver(c);
  o.state(saver);
  return c;
}
/// Saves `from`, loads it into `to`, saves that, and compares.
template <class T>
void check_state(T& from, T& to) {
  const Checkpoint a = saved(from);
  StateLoader loader(a, "memory");
  to.state(loader);
  loader.finish();
  const Checkpoint b = saved(to);
  CHECK(a.scalars.dump() == b.scalars.dump());
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].name == b.tensors[i].name);
    CHECK(a.tensors[i].tensor.to_doubles() == b.tensors[i].tensor.to_doubles());
  }
}

/// Class targets where the loss or metric takes them, else numbers like the logits.
template <class Make>
void check_on_targets(const Make& make) {
  const SampleSpec classes = test::classes_spec({6}, 6), numbers = test::numbers_spec({6}, {6});
  std::string refusals;
  for (const SampleSpec& spec : {classes, numbers}) {
    const auto object = make(spec);
    Fields out;
    out.set("logits", Tensor::empty({4, 6}, DType::f32, Device::meta));
    Fields batch = meta_fields(spec, 4);
    try {
      object->check(out, batch);
    } catch (const Error& e) {
      CHECK(e.category == Category::usage);
      refusals += e.message + "\n";
      continue;
    }
    out.set("logits", Tensor::full({4, 6}, 0.5));
    batch = {};
    batch.set("input", Tensor::zeros({4, 6}));
    batch.set("target", spec.fields[1].num_classes > 0 ? Tensor::of<std::int64_t>({0, 5, 2, 1}, {4}) : Tensor::zeros({4, 6}));
    const Tensor rows = object->rows(out, batch);
    CHECK(rows.size(0) == 4);
    return;
  }
  FAIL("fits neither class indices nor numbers: " << refusals);
}

}  // namespace

TEST_CASE("definitions are sound: kind and folder agree, docs, field names, defaults, examples, round trips") {
  for (const std::string& problem : check_registry(test::registry())) FAIL_CHECK(problem);
  for (const ManifestRow& row : builtin_components()) {
    CAPTURE(row.file);
    CHECK(row.def->kind->kind == row.kind);
    CHECK(row.def->version >= 1);
    CHECK_FALSE(row.def->doc.empty());
    for (const Field& f : row.def->fields) CHECK_FALSE(f.doc.empty());
  }
}

TEST_CASE("every key of a component has a member of its own") {
  for (const ManifestRow& row : builtin_components()) {
    CAPTURE(row.file);
    const std::shared_ptr<void> config = row.def->create();
    std::map<const void*, std::string_view> owner;
    for (const Field& f : row.def->fields) {
      CAPTURE(f.name);
      const auto [at, fresh] = owner.emplace(member_of(f, config.get()), f.name);
      CHECK_MESSAGE(fresh, "shares its member with '" << std::string(at->second) << "'");
    }
  }
}

TEST_CASE("keys read into the members that the factory sees") {
  // Configs of different files have members of one name at different places; a mix-up shows in what is built.
  const SampleSpec spec = test::classes_spec({8}, 3);
  const Meta in[] = {{{4, 8}, DType::f32, {}}};
  const BuildContext b{.in = in, .seed = 1, .spec = &spec};
  CHECK(b.child(test::item<LayerDef>("linear: {out_features: 5, bias: false}"), "0", in).out[0].shape == Shape{4, 5});
  CHECK(b.child(test::item<LayerDef>("batch_norm1d: {affine: false}"), "0", in).module->state_tensors().size() == 3);
  OptimPipeline sgd(test::item<OptimizerDef>("sgd: {momentum: 0.5}"), [] {
    std::vector<NamedTensor> p(1);
    p[0] = {"w", Tensor::of<float>({1}, {1}).requires_grad_(), StateKind::parameter};
    return p;
  }(), {});
  StateCollector slots;
  sgd.state(slots);
  CHECK(slots.slots.size() == 1);
  const auto cosine = test::item<ScheduleDef>("cosine: {min_factor: 0.25}").make();
  CHECK(cosine->factor(10, {10, 1}) == 0.25);
  const auto linear = test::item<ScheduleDef>("linear: {end_factor: 0.25}").make();
  CHECK(linear->factor(10, {10, 1}) == 0.25);
}

TEST_CASE("layers build, keep their dry run's promise, train and restore") {
  const SampleSpec spec = test::classes_spec({8}, 3);
  each<LayerDef>([&](const Ref<LayerDef>& example, const ManifestRow&) {
    const Meta in[] = {{{4, 8}, DType::f32, {}}};
    const auto build = [&](std::uint64_t seed) {
      return BuildContext{.in = in, .seed = seed, .spec = &spec}.child(example, "layer", in);
    };
    const auto a = build(1), b = build(2);
    REQUIRE(a.out.size() == 1);
    Effects effects;
    Scope s;
    s.training = true;
    s.effects = &effects;
    const Within within(s);
    const Tensor y = (*a.module)(Tensor::full({4, 8}, 0.25));
    CHECK(y.meta() == a.out[0]);
    for (const NamedTensor& t : a.module->state_tensors()) CHECK(t.name.starts_with("layer."));
    check_state(*a.module, *b.module);
  });
}

TEST_CASE("models build for data of several shapes") {
  each<ModelDef>([](const Ref<ModelDef>& example, const ManifestRow&) {
    for (const Shape& input : {Shape{8}, Shape{2, 4}, Shape{1, 4, 2}}) {
      const SampleSpec spec = test::classes_spec(input, 10);
      const BuiltModel a = build_model(example, spec, 1), b = build_model(example, spec, 2);
      CHECK(a.out.at(0).shape == Shape{2, 10});
      check_state(*a.module, *b.module);
      CHECK(build_model(example, spec, 1, DType::f32, Device::meta).out == a.out);
    }
  });
}

TEST_CASE("losses and metrics work on the targets they accept") {
  each<LossDef>([](const Ref<LossDef>& example, const ManifestRow&) {
    check_on_targets([&](const SampleSpec& spec) { return example.make(LossContext{spec, DType::f32}); });
  });
  each<MetricDef>([](const Ref<MetricDef>& example, const ManifestRow&) {
    check_on_targets([&](const SampleSpec& spec) { return example.make(MetricContext{spec}); });
  });
}

TEST_CASE("optimizers update and restore") {
  each<OptimizerDef>([](const Ref<OptimizerDef>& example, const ManifestRow&) {
    const auto parameters = [] {
      std::vector<NamedTensor> p(1);
      p[0] = {"w", Tensor::of<float>({1, -2, 3}, {3}).requires_grad_(), StateKind::parameter};
      return p;
    };
    OptimPipeline a(example, parameters(), {10, 5}), b(example, parameters(), {10, 5});
    const Tensors g = {Tensor::of<float>({0.5F, 0.25F, -1}, {3})};
    a.update(g, 0);
    CHECK(a.parameters()[0].to_doubles() != std::vector<double>{1, -2, 3});
    check_state(a, b);
  });
}

TEST_CASE("schedules give a factor in [0, 1] at every step") {
  each<ScheduleDef>([](const Ref<ScheduleDef>& example, const ManifestRow&) {
    const auto schedule = example.make();
    for (std::int64_t step = 0; step < 40; ++step) {
      const double f = schedule->factor(step, {40, 10});
      CHECK(f >= 0);
      CHECK(f <= 1);
    }
  });
}

TEST_CASE("hooks and tasks build, and hooks restore") {
  each<HookDef>([](const Ref<HookDef>& example, const ManifestRow&) {
    const auto a = example.make(), b = example.make();
    check_state(*a, *b);
  });
  const SampleSpec spec = test::classes_spec({8}, 3);
  const BuiltModel model = build_model(test::chosen<ModelDef>("{name: mlp, hidden_features: [4]}"), spec, 1);
  std::vector<NamedLoss> losses;
  losses.push_back({"main", 1.0, test::chosen<LossDef>("cross_entropy").make(LossContext{spec, DType::f32})});
  each<TaskDef>([&](const Ref<TaskDef>& example, const ManifestRow&) {
    const auto task = example.make(TaskContext{*model.module, losses, spec});
    REQUIRE_FALSE(task->phases().empty());
    Fields batch;
    batch.set("input", Tensor::zeros({4, 8}));
    batch.set("target", Tensor::of<std::int64_t>({0, 1, 2, 0}, {4}));
    for (const Phase& p : task->phases()) CHECK(task->terms(p, batch).size() == task->weights(p, batch).size());
    CHECK(task->predict(batch).at("logits").shape() == Shape{4, 3});
  });
}
