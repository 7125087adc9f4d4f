// RunConfig: the root of a configuration file, as structs. Every key of a run that is not a component's own.
#pragma once

#include "lockstep/component/component.h"
#include "lockstep/component/registry.h"
#include "lockstep/config/compose.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/loader.h"
#include "lockstep/hook/hook.h"
#include "lockstep/loss/loss.h"
#include "lockstep/metric/metric.h"
#include "lockstep/nn/module.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/task/task.h"

namespace lockstep {

/// `data:`. Transforms of a split run first, then those of `all`.
struct DataConfig {
  Ref<DatasetDef> train;
  OneOrMany<DatasetDef> val;
  std::optional<Ref<DatasetDef>> test;
  std::map<std::string, std::vector<Ref<TransformDef>>> transforms;   // "all", "train", "val", "test"
  LoaderConfig loader;
  [[nodiscard]] std::string problem() const;
};

/// The name of a validation split in metrics: its id under data.val, or `val` for a single one.
std::string val_split_id(const AnyRef& v);

/// `train.checkpoint:`. When checkpoints are written never changes the trained bits.
struct CheckpointConfig {
  std::optional<std::int64_t> every_steps;     // with every_minutes: instead of the end of every epoch
  std::optional<double> every_minutes;
  std::optional<std::string> monitor;          // "val/accuracy": decides which checkpoint is `best`
  std::int64_t keep = 0;                       // older checkpoints kept beside last and best
};

/// `train:`. Exactly one of epochs and steps says how long a schedule is.
struct TrainConfig {
  std::optional<std::int64_t> epochs, steps;
  std::optional<std::int64_t> max_steps;       // ends the run early; bends no schedule
  std::optional<double> max_minutes;
  std::int64_t shards = 1;
  std::int64_t shards_per_pass = 1;
  std::optional<double> clip_grad_norm;
  std::int64_t eval_every_epochs = 1;
  std::optional<std::int64_t> eval_every_steps;
  std::int64_t log_every = 50;
  CheckpointConfig checkpoint;
  [[nodiscard]] std::string problem() const;
};

enum class DeviceChoice : std::uint8_t { cpu, cuda };
enum class Numerics : std::uint8_t { strict };

struct RunConfig {
  std::string name = "run";
  std::int64_t seed = 0;
  DeviceChoice device = DeviceChoice::cpu;
  Numerics numerics = Numerics::strict;
  DataConfig data;
  Many<ModelDef> models;
  Many<LossDef> losses;
  Many<OptimizerDef> optims;
  Ref<TaskDef> task;
  Many<MetricDef> metrics;
  TrainConfig train;
  std::vector<Ref<HookDef>> hooks;

  /// What is wrong as a whole; empty: nothing.
  [[nodiscard]] std::string problem() const;

  // Not inline: every command would compile them anew.
  RunConfig();
  RunConfig(const RunConfig&);
  RunConfig(RunConfig&&) noexcept;
  RunConfig& operator=(const RunConfig&);
  RunConfig& operator=(RunConfig&&) noexcept;
  ~RunConfig();
};

/// Epochs and steps decide bits when a schedule reads them: every schedule but a constant one may.
bool schedule_reads_total(const RunConfig& c);

std::span<const Field> fields_of(const LoaderConfig*);
std::span<const Field> fields_of(const DataConfig*);
std::span<const Field> fields_of(const CheckpointConfig*);
std::span<const Field> fields_of(const TrainConfig*);
std::span<const Field> fields_of(const RunConfig*);
constexpr Choice kDeviceChoices[] = {{"cpu", DeviceChoice::cpu, "this machine's processors"},
                                     {"cuda", DeviceChoice::cuda, "an NVIDIA GPU"}};
constexpr std::span<const Choice> choices_of(DeviceChoice) { return kDeviceChoices; }
constexpr Choice kNumericsChoices[] = {{"strict", Numerics::strict, "bits are a function of the identity"}};
constexpr std::span<const Choice> choices_of(Numerics) { return kNumericsChoices; }

/// A config that was composed, read and checked: what every command starts from.
struct LoadedConfig {
  Composed composed;
  RunConfig config;
};
/// Composes and reads; everything that is wrong is in `diagnostics`. Throws usage when the file cannot be read.
LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides, Diagnostics& diagnostics);
/// The same, throwing the diagnostics as one Error(usage).
LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides);
/// The registry of everything linked into this binary.
const Registry& builtin_registry();

}  // namespace lockstep
