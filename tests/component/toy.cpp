// The toy components, written as component files are.
#include "toy.h"

namespace lockstep::toy {
namespace {

struct None {};

struct CosineConfig {
  std::int64_t warmup_steps = 0;
};
constexpr Field kCosine[] = {field<&CosineConfig::warmup_steps>("warmup_steps", "Steps of rising lr.").at_least(0)};
class Cosine final : public Schedule {
 public:
  explicit Cosine(const CosineConfig& c) : c_(c) {}
  double at(double lr) const override { return lr / static_cast<double>(c_.warmup_steps + 1); }

 private:
  CosineConfig c_;
};
class Constant final : public Schedule {
 public:
  explicit Constant(const None&) {}
  double at(double lr) const override { return lr; }
};
constinit const ScheduleDef schedules_cosine = component<ScheduleDef, Cosine, CosineConfig, kCosine>(
    {.doc = "Half a cosine down to zero.", .example = "cosine: {warmup_steps: 200}"});
constinit const ScheduleDef schedules_constant =
    component<ScheduleDef, Constant, None, kNoFields>({.doc = "lr stays.", .example = "constant"});

struct SgdConfig {
  double momentum = 0.0;
  bool nesterov = false;
  [[nodiscard]] std::string problem() const {
    return nesterov && momentum == 0 ? "nesterov needs momentum above 0, and momentum is 0" : "";
  }
};
constexpr Field kSgd[] = {
    field<&SgdConfig::momentum>("momentum", "Fraction of the velocity kept.").in(0, 1),
    field<&SgdConfig::nesterov>("nesterov", "Look ahead."),
};
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdConfig& c) : c_(c) {}
  double step(double g) const override { return g * (1 + c_.momentum); }

 private:
  SgdConfig c_;
};
constinit const OptimizerDef optimizers_sgd = component<OptimizerDef, Sgd, SgdConfig, kSgd>(
    {.doc = "Gradient descent.", .example = "sgd: {lr: 0.1, momentum: 0.9, schedule: {name: cosine, warmup_steps: 5}}"});

struct AdamConfig {
  double beta1 = 0.9;
  double eps = 1e-8;
};
constexpr Field kAdam[] = {
    field<&AdamConfig::beta1>("beta1", "Decay of the mean.").from_below(0, 1),
    field<&AdamConfig::eps>("eps", "Added below the root.").above(0),
};
class Adam final : public Optimizer {
 public:
  explicit Adam(const AdamConfig&) {}
  double step(double g) const override { return g; }
};
constinit const OptimizerDef optimizers_adam = component<OptimizerDef, Adam, AdamConfig, kAdam>(
    {.doc = "Adaptive steps.", .example = "adam: {beta1: 0.8}", .version = 2});

struct LinearConfig {
  std::int64_t out_features = 0;
  bool bias = true;
};
constexpr Field kLinear[] = {
    field<&LinearConfig::out_features>("out_features", "Size of the last axis of the output.").in(1, 1e9).required(),
    field<&LinearConfig::bias>("bias", "Add a learned bias."),
};
class Linear final : public Module {
 public:
  Linear(const LinearConfig& c, const std::string&) : c_(c) {}
  std::int64_t out(std::int64_t) const override { return c_.out_features; }

 private:
  LinearConfig c_;
};
constinit const LayerDef layers_linear = component<LayerDef, Linear, LinearConfig, kLinear>(
    {.doc = "Fully connected.", .example = "linear: {out_features: 10}"});

class Relu final : public Module {
 public:
  Relu(const None&, const std::string&) {}
  std::int64_t out(std::int64_t in) const override { return in; }
};
constinit const LayerDef layers_relu = component<LayerDef, Relu, None, kNoFields>({.doc = "max(x, 0).", .example = "relu"});

struct PoolConfig {
  std::variant<std::int64_t, std::vector<std::int64_t>> kernel_size = std::int64_t{2};
};
constexpr Field kPool[] = {field<&PoolConfig::kernel_size>("kernel_size", "Side, or one for each axis.").in(1, 100)};
class Pool final : public Module {
 public:
  Pool(const PoolConfig&, const std::string&) {}
  std::int64_t out(std::int64_t in) const override { return in; }
};
constinit const LayerDef layers_max_pool2d =
    component<LayerDef, Pool, PoolConfig, kPool>({.doc = "Largest of a window.", .example = "max_pool2d: {kernel_size: [2, 3]}"});

struct ListConfig {
  std::vector<Ref<LayerDef>> layers;
};
constexpr Field kList[] = {field<&ListConfig::layers>("layers", "In order.").items(1)};
class List final : public Module {
 public:
  List(const ListConfig& c, const std::string& path) {
    for (const Ref<LayerDef>& l : c.layers) made_.push_back(l.make(path));
  }
  std::int64_t out(std::int64_t in) const override {
    for (const auto& m : made_) in = m->out(in);
    return in;
  }

 private:
  std::vector<std::unique_ptr<Module>> made_;
};
constexpr Field kResidual[] = {field<&ListConfig::layers>("layers", "The branch.").items(1)};
constinit const LayerDef layers_residual =
    component<LayerDef, List, ListConfig, kResidual>({.doc = "x + f(x).", .example = "residual: {layers: [relu]}"});
constinit const ModelDef models_sequential = component<ModelDef, List, ListConfig, kList>(
    {.doc = "Layers in order.", .example = "layers: [relu, linear: {out_features: 2}]"});

struct MlpConfig {
  std::vector<std::int64_t> hidden = {128};
};
constexpr Field kMlp[] = {field<&MlpConfig::hidden>("hidden", "Widths.").in(1, 1e6)};
class Mlp final : public Module {
 public:
  Mlp(const MlpConfig&, const std::string&) {}
  std::int64_t out(std::int64_t in) const override { return in; }
};
constinit const ModelDef models_mlp =
    component<ModelDef, Mlp, MlpConfig, kMlp>({.doc = "Linear and relu in turn.", .example = "mlp: {hidden: [3, 4]}"});

struct IdxConfig {
  std::filesystem::path root = "/usr/share/x";
  std::string split = "train";
};
constexpr Field kIdx[] = {
    field<&IdxConfig::root>("root", "Folder of the files.").as(Role::location),
    field<&IdxConfig::split>("split", "Which files."),
};
class Idx final : public Dataset {
 public:
  explicit Idx(const IdxConfig&) {}
};
constinit const DatasetDef datasets_idx =
    component<DatasetDef, Idx, IdxConfig, kIdx>({.doc = "Files of the idx format.", .example = "idx: {root: /data, split: \"10\"}"});

struct CeConfig {
  double label_smoothing = 0;
};
constexpr Field kCe[] = {field<&CeConfig::label_smoothing>("label_smoothing", "Mass given to other classes.").from_below(0, 1)};
class Ce final : public Loss {
 public:
  explicit Ce(const CeConfig&) {}
};
constinit const LossDef losses_ce = component<LossDef, Ce, CeConfig, kCe>({.doc = "Cross entropy.", .example = "ce: {label_smoothing: 0.1}"});

constinit const ManifestRow kRows[] = {
    {"datasets", "idx", &datasets_idx},         {"layers", "linear", &layers_linear},
    {"layers", "max_pool2d", &layers_max_pool2d}, {"layers", "relu", &layers_relu},
    {"layers", "residual", &layers_residual},   {"losses", "ce", &losses_ce},
    {"models", "mlp", &models_mlp},             {"models", "sequential", &models_sequential},
    {"optimizers", "adam", &optimizers_adam},   {"optimizers", "sgd", &optimizers_sgd, "registry/optimizers/sgd.cpp"},
    {"schedules", "constant", &schedules_constant}, {"schedules", "cosine", &schedules_cosine},
};

}  // namespace

std::span<const ManifestRow> rows() { return kRows; }

bool schedule_reads_epochs(const Config& c) {
  for (const Ref<OptimizerDef>& o : c.optims.items) {
    if (o.common_as<OptimizerDef>().schedule.name == "cosine") return true;
  }
  return false;
}

}  // namespace lockstep::toy
