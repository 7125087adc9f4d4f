// Builds an experiment from its config and runs it once on shapes alone.
#include "lockstep/runtime/experiment.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/state/save_load.h"

namespace lockstep {
namespace {

/// The id as written, else the component's name (an unwritten id in a list is its index).
std::string id_of(const AnyRef& r) { return r.id.empty() || (r.id.front() >= '0' && r.id.front() <= '9') ? std::string(r.name) : r.id; }

std::string frame_text(const void* ref) { return "in " + static_cast<const AnyRef*>(ref)->shown(); }

/// A batch of shapes: every field of the spec with `rows` rows.
Fields meta_batch(const SampleSpec& spec, std::int64_t rows) {
  Fields out;
  for (const auto& f : spec.fields) {
    Shape s{rows};
    for (const std::int64_t d : f.shape) s.push_back(d);
    out.set(f.name, Tensor::empty(s, f.dtype, Device::meta));
  }
  return out;
}

std::vector<Meta> input_metas(const SampleSpec& spec, const Fields& batch) {
  std::vector<Meta> out;
  for (const auto& f : spec.fields)
    if (f.role == FieldRole::input) out.push_back(batch.at(f.name).meta());
  return out;
}

void require_single(std::size_t n, std::string_view what, const AnyRef& second) {
  if (n > 1)
    failf(Category::usage, "{}: task 'supervised' trains one {}, and the config names {}; keep one", second.shown(), what, n);
}

void require_unique(const std::vector<std::string>& ids, const AnyRef& last, std::string_view what) {
  for (std::size_t i = 0; i + 1 < ids.size(); ++i)
    if (ids[i] == ids.back())
      failf(Category::usage, "{}: two {} are called '{}'; give one of them an `id`", last.shown(), what, ids.back());
}

}  // namespace

Split Experiment::open(const Ref<DatasetDef>& chosen, std::string_view id, std::string_view family) const {
  const Frame frame(frame_text, static_cast<const AnyRef*>(&chosen));
  Split out;
  out.id = id;
  out.dataset = chosen.make(DatasetContext{seed(), id});
  if (out.dataset->size() == 0)
    failf(Category::data, "the split '{}' ({}) has no samples; at least one is needed", id, chosen.shown());
  check_targets(*out.dataset, id);
  if (train.dataset) {
    check_class_map(train.dataset->spec(), out.dataset->spec(), id);
    for (const FieldSpec& f : train.dataset->spec().fields) {
      const FieldSpec* other = out.dataset->spec().find(f.name);
      if (f.role != FieldRole::input || other == nullptr || other->shape == f.shape) continue;
      failf(Category::data, "the input field '{}' has shape {} in train and {} in {}; one model reads both, so they must be equal",
            f.name, text(f.shape), text(other->shape), id);
    }
  }
  out.spec = out.dataset->spec();
  const auto add = [&](std::string_view list) {
    const auto it = config.data.transforms.find(std::string(list));
    if (it == config.data.transforms.end()) return;
    for (const auto& t : it->second) {
      const Frame inner(frame_text, static_cast<const AnyRef*>(&t));
      auto made = t.make();
      made->fit(train.dataset ? *train.dataset : *out.dataset);
      out.spec = made->spec(out.spec);
      out.transforms.push_back(std::move(made));
    }
  };
  add(family);
  add("all");
  return out;
}

Experiment::Experiment(const RunConfig& c) : config(c) {
  if (config.device == DeviceChoice::cuda) {
    const Frame place("in device");
    fail(Category::resource, "device: cuda was asked for, but this build has no CUDA kernels; use device: cpu");
  }
  if (config.models.items.size() > 1) require_single(config.models.items.size(), "model", config.models.items[1]);
  if (config.optims.items.size() > 1) require_single(config.optims.items.size(), "optimizer", config.optims.items[1]);

  train = open(config.data.train, "train", "train");
  for (const auto& v : config.data.val.items) {
    evals.push_back(open(v, val_split_id(v), "val"));
  }

  const auto& loader = config.data.loader;
  const std::int64_t n = train.dataset->size();
  if (loader.drop_last && n < loader.batch_size) {
    const Frame place("in data.loader");
    failf(Category::data,
          "drop_last with batch_size {} leaves no batch of the {} training samples; use a smaller batch_size or "
          "drop_last: false",
          loader.batch_size, n);
  }
  counters.steps_per_epoch = loader.drop_last ? n / loader.batch_size : (n + loader.batch_size - 1) / loader.batch_size;
  counters.total_steps = config.train.steps ? *config.train.steps : *config.train.epochs * counters.steps_per_epoch;

  const Fields batch = meta_batch(train.spec, std::min(n, loader.batch_size));
  const std::vector<Meta> inputs = input_metas(train.spec, batch);
  if (inputs.empty()) failf(Category::usage, "{}: the dataset has no field with the role input", config.data.train.shown());
  for (const FieldSpec& f : train.spec.fields) {
    if (f.role != FieldRole::input || f.dtype != DType::u8) continue;
    const Frame place("in data.train");
    failf(Category::usage,
          "the input field '{}' {} is uint8, and models compute in floats: make it floats with a transform, for example "
          "data.transforms: {{all: [normalize: {{mean: [0.5], std: [0.5]}}]}}",
          f.name, text(f.shape));
  }
  {
    const auto& chosen = config.models.items.front();
    const Frame frame(frame_text, static_cast<const AnyRef*>(&chosen));
    BuildContext b;
    b.in = inputs;
    b.origin = chosen.origin.text();
    b.seed = seed();
    b.spec = &train.spec;
    model = chosen.make(b);
  }
  state = model->state_tensors();
  std::ranges::sort(state, {}, &NamedTensor::name);
  if (const auto twice = std::ranges::adjacent_find(state, {}, &NamedTensor::name); twice != state.end()) {
    const Frame frame(frame_text, static_cast<const AnyRef*>(&config.models.items.front()));
    failf(Category::usage, "two tensors of the model are called '{}'; give one of the layers another id", twice->name);
  }

  std::vector<std::string> ids;
  for (const auto& l : config.losses.items) {
    const Frame frame(frame_text, static_cast<const AnyRef*>(&l));
    ids.push_back(id_of(l));
    require_unique(ids, l, "losses");
    losses.push_back({ids.back(), l.coef, l.make(LossContext{train.spec, DType::f32})});
  }
  ids.clear();
  for (const auto& m : config.metrics.items) {
    const Frame frame(frame_text, static_cast<const AnyRef*>(&m));
    ids.push_back(id_of(m));
    require_unique(ids, m, "metrics");
    if (ids.back() == "loss")
      failf(Category::usage, "{}: what is trained is reported as `<split>/loss`; give this metric another `id`", m.shown());
    metrics.push_back({ids.back(), m.make(MetricContext{train.spec})});
  }
  task = config.task.make(TaskContext{*model, losses, train.spec});
  restart_hooks();
  if (config.train.checkpoint.monitor) {
    const Frame place("in train.checkpoint.monitor");
    static_cast<void>(direction(*config.train.checkpoint.monitor));
  }
  dry_run();
  restart_optim();
}

void Experiment::restart_optim() {
  std::vector<NamedTensor> parameters;
  std::ranges::copy_if(state, std::back_inserter(parameters), [](const NamedTensor& t) { return t.kind == StateKind::parameter; });
  const auto& chosen = config.optims.items.front();
  const Frame frame(frame_text, static_cast<const AnyRef*>(&chosen));
  optim = std::make_unique<OptimPipeline>(chosen, std::move(parameters), counters);
}

void Experiment::restart_hooks() {
  hooks.clear();
  for (const auto& h : config.hooks) {
    const Frame frame(frame_text, static_cast<const AnyRef*>(&h));
    hooks.push_back(h.make());
    hooks.back()->prepare([this](std::string_view name) { return direction(name); });
  }
}

void Experiment::preflight() {
  if (config.data.test) static_cast<void>(open_test());
  LoaderConfig loader = config.data.loader;
  loader.workers = 0;
  const auto first = [&](const Split& split) {
    Batch batch;
    static_cast<void>(Loader(*split.dataset, split.transforms, loader, seed(), Pass::evaluation).next(batch));
  };
  for (const Split& split : evals) first(split);
  if (test) first(*test);
}

/// Every shape error before the first byte of training: the forward, each loss and each metric, on metas.
void Experiment::dry_run() const {
  const NoGrad off;
  const auto pass = [&](const Split& split) {
    const Fields batch = meta_batch(split.spec, std::min(split.dataset->size(), config.data.loader.batch_size));
    const Fields out = task->predict(batch);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const Frame frame(frame_text, static_cast<const AnyRef*>(&config.losses.items[i]));
      losses[i].loss->check(out, batch);
    }
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      const Frame frame(frame_text, static_cast<const AnyRef*>(&config.metrics.items[i]));
      metrics[i].metric->check(out, batch);
    }
  };
  pass(train);
  for (const auto& split : evals) pass(split);

  // A step of training on the fewest rows that one will have: the last batch of an epoch, cut in shards.
  const std::int64_t n = train.dataset->size(), batch = std::min(n, config.data.loader.batch_size);
  const std::int64_t rest = config.data.loader.drop_last || n % batch == 0 ? batch : n % batch;
  Effects dropped;
  Scope training = scope;
  training.training = true;
  training.rng = {seed(), 0, 0, 0};
  training.effects = &dropped;
  const Within within(training);
  const Fields rows = meta_batch(train.spec, std::max<std::int64_t>(1, rest / config.train.shards));
  Tensors in;
  for (const FieldSpec& f : train.spec.fields)
    if (f.role == FieldRole::input) in.push_back(rows.at(f.name));
  static_cast<void>((*model)(in));
}

const Split& Experiment::open_test() {
  if (!config.data.test) fail(Category::usage, "the config has no data.test; name a dataset there to evaluate on it");
  if (!test) test = std::make_unique<Split>(open(*config.data.test, "test", "test"));
  return *test;
}

std::vector<std::string> Experiment::metric_names() const {
  std::vector<std::string> out;
  for (const auto& split : evals) {
    out.push_back(split.id + "/loss");
    for (const auto& m : metrics) out.push_back(split.id + "/" + m.id);
  }
  return out;
}

Direction Experiment::direction(std::string_view name) const {
  for (const auto& split : evals) {
    if (name == split.id + "/loss") return Direction::lower;
    for (const auto& m : metrics)
      if (name == split.id + "/" + m.id) return m.metric->direction();
  }
  const auto names = metric_names();
  const auto near = nearest(name, std::span<const std::string>(names));
  failf(Category::usage, "no evaluation reports '{}'; this run reports {}{}", name,
        names.empty() ? std::string("nothing, as data.val is not given") : join(names, ", "),
        near ? fmt::format(" (did you mean '{}'?)", *near) : std::string());
}

void Experiment::visit(StateVisitor& v) {
  {
    const StateVisitor::Section section(v, kModelSection);
    model->state(v);
  }
  {
    const StateVisitor::Section section(v, "optim");
    optim->state(v);
  }
  const StateVisitor::Section section(v, "hooks");
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const StateVisitor::Section inner(v, text(i));
    hooks[i]->state(v);
  }
}

}  // namespace lockstep
