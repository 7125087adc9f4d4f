// A small world of kinds, components and a root struct: what the component tests read, print and describe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/component/canonical.h"
#include "lockstep/component/component.h"
#include "lockstep/component/read.h"
#include "lockstep/component/registry.h"

namespace lockstep::toy {

class Schedule {
 public:
  static constexpr std::string_view kKind = "schedules";
  virtual ~Schedule() = default;
  virtual double at(double lr) const = 0;
};
using ScheduleDef = ComponentOf<Schedule>;

struct Group {
  std::string pattern;
  std::optional<double> lr;
};
inline constexpr Field kGroupFields[] = {
    field<&Group::pattern>("pattern", "Parameters whose name matches.").required(),
    field<&Group::lr>("lr", "Their own step size.").above(0),
};
constexpr std::span<const Field> fields_of(const Group*) { return kGroupFields; }

struct OptimCommon {
  double lr = 1e-3;
  Ref<ScheduleDef> schedule;
  std::vector<Group> groups;
};
inline constexpr Field kOptimCommonFields[] = {
    field<&OptimCommon::lr>("lr", "Step size.").above(0),
    field<&OptimCommon::schedule>("schedule", "How lr changes.").otherwise("constant"),
    field<&OptimCommon::groups>("groups", "Parameters with settings of their own."),
};
constexpr std::span<const Field> fields_of(const OptimCommon*) { return kOptimCommonFields; }

class Optimizer {
 public:
  static constexpr std::string_view kKind = "optimizers";
  static constexpr std::string_view kWord = "optim";
  using Common = OptimCommon;
  virtual ~Optimizer() = default;
  virtual double step(double gradient) const = 0;
};
using OptimizerDef = ComponentOf<Optimizer>;

class Module {
 public:
  static constexpr std::string_view kKind = "layers";
  static constexpr Beside kBeside = {.from = true, .repeat = true};
  virtual ~Module() = default;
  virtual std::int64_t out(std::int64_t in) const = 0;
};
using LayerDef = ComponentOf<Module, const std::string&>;

struct Model {
  static constexpr std::string_view kKind = "models";
  static constexpr Mark kMarks[] = {{"layers", "sequential"}, {"graph", "dag"}};
  using Made = Module;
};
using ModelDef = ComponentOf<Model, const std::string&>;

class Dataset {
 public:
  static constexpr std::string_view kKind = "datasets";
  virtual ~Dataset() = default;
};
using DatasetDef = ComponentOf<Dataset>;

class Loss {
 public:
  static constexpr std::string_view kKind = "losses";
  static constexpr std::string_view kWord = "loss";
  static constexpr Beside kBeside = {.coef = true};
  virtual ~Loss() = default;
};
using LossDef = ComponentOf<Loss>;

/// Every toy component, as the generated table would list them.
std::span<const ManifestRow> rows();

struct Data {
  Ref<DatasetDef> train;
  OneOrMany<DatasetDef> val;
  std::int64_t batch_size = 64;
  std::int64_t workers = 0;
};
inline constexpr Field kDataFields[] = {
    field<&Data::train>("train", "What is trained on."),
    field<&Data::val>("val", "What is evaluated on."),
    field<&Data::batch_size>("batch_size", "Samples a step.").in(1, 1e6),
    field<&Data::workers>("workers", "Threads that load.").in(0, 64).as(Role::nuisance),
};
constexpr std::span<const Field> fields_of(const Data*) { return kDataFields; }

struct Checkpoint {
  std::int64_t keep = 1;
  std::optional<std::int64_t> every;
};
inline constexpr Field kCheckpointFields[] = {
    field<&Checkpoint::keep>("keep", "How many stay.").at_least(1),
    field<&Checkpoint::every>("every", "Steps between two.").at_least(1),
};
constexpr std::span<const Field> fields_of(const Checkpoint*) { return kCheckpointFields; }

struct Config;
bool schedule_reads_epochs(const Config& c);
enum class OnNan : std::uint8_t { stop, skip, rollback };
inline constexpr Choice kOnNanChoices[] = {{"stop", OnNan::stop}, {"skip", OnNan::skip}, {"rollback", OnNan::rollback}};
constexpr std::span<const Choice> choices_of(OnNan) { return kOnNanChoices; }

struct Train {
  std::int64_t epochs = 1;
  std::optional<double> clip;
  bool shuffle = true;
  OnNan on_nan = OnNan::stop;
  std::int64_t snapshot = 100;
  Checkpoint checkpoint;
};
inline constexpr Field kTrainFields[] = {
    field<&Train::epochs>("epochs", "Passes over the data.").in(1, 1e9).as(Role::horizon).bits_when<&schedule_reads_epochs>(),
    field<&Train::clip>("clip", "Largest gradient norm.").above(0),
    field<&Train::shuffle>("shuffle", "A new order each epoch."),
    field<&Train::on_nan>("on_nan", "What a NaN does."),
    field<&Train::snapshot>("snapshot", "Steps between two snapshots.").at_least(1).only_when("on_nan", "rollback"),
    field<&Train::checkpoint>("checkpoint", "When to save.").as(Role::nuisance),
};
constexpr std::span<const Field> fields_of(const Train*) { return kTrainFields; }

struct Config {
  std::string name = "run";
  std::int64_t seed = 0;
  Data data;
  Ref<ModelDef> model;
  Many<LossDef> losses;
  Many<OptimizerDef> optims;
  Train train;
  std::map<std::string, double> tags;
};
inline constexpr Field kConfigFields[] = {
    field<&Config::name>("name", "What the run is called.").as(Role::nuisance),
    field<&Config::seed>("seed", "Of everything random.").in(0, 9007199254740991),
    field<&Config::data>("data", "Datasets and loading."),
    field<&Config::model>("model", "What is trained."),
    field<&Config::losses>("losses", "What is minimised.").singular("loss").required(),
    field<&Config::optims>("optims", "What steps.").singular("optim").required(),
    field<&Config::train>("train", "How long and how."),
    field<&Config::tags>("tags", "Numbers to find the run by.").as(Role::nuisance),
};
constexpr std::span<const Field> fields_of(const Config*) { return kConfigFields; }

inline constexpr std::string_view kGood =
    "name: toy\n"
    "data: {train: {name: idx, root: data}, val: {name: idx, root: data}}\n"
    "model: {layers: [linear: {out_features: 8}, relu, linear: {out_features: 2}]}\n"
    "loss: ce\n"
    "optim: {name: sgd, lr: 0.1, momentum: 0.9}\n";

}  // namespace lockstep::toy
