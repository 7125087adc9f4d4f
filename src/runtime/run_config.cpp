// The fields of a run, with their roles.
#include "lockstep/runtime/run_config.h"

#include "lockstep/base/error.h"
#include "lockstep/component/read.h"

namespace lockstep {
namespace {

/// Hooks may listen to evaluations; then their interval decides what the hooks see.
bool hooks_listen(const RunConfig& c) {
  for (const auto& h : c.hooks)
    if (h && h.make()->listens()) return true;
  return false;
}

constexpr double kMaxCount = 9007199254740991.0;   // 2^53 - 1

constexpr Field kLoader[] = {
    field<&LoaderConfig::batch_size>("batch_size", "Rows per optimizer step.").in(1, 1e9),
    field<&LoaderConfig::eval_batch_size>("eval_batch_size", "Rows per evaluation batch; metrics do not depend on it.").in(1, 1e9).as(Role::nuisance),
    field<&LoaderConfig::shuffle>("shuffle", "Visit the training samples in a keyed permutation, another one each epoch."),
    field<&LoaderConfig::drop_last>("drop_last", "Leave out the last batch of an epoch when it is not full."),
    field<&LoaderConfig::workers>("workers", "Threads that prepare batches; 0: the training thread does.").in(0, 256).as(Role::nuisance),
    field<&LoaderConfig::prefetch>("prefetch", "Batches kept ready ahead.").in(1, 1024).as(Role::nuisance),
};
constexpr Field kData[] = {
    field<&DataConfig::train>("train", "The training split."),
    field<&DataConfig::val>("val", "The validation split, or a map id -> dataset of several."),
    field<&DataConfig::test>("test", "The test split; only `eval` reads it.").as(Role::nuisance),
    field<&DataConfig::transforms>("transforms", "A map split -> list of transforms (all, train, val, test). A split's own run first, then those of `all`."),
    field<&DataConfig::loader>("loader", "How batches are made."),
};
constexpr Field kCheckpoint[] = {
    field<&CheckpointConfig::every_steps>("every_steps", "Commit every so many steps, instead of at the end of each epoch.").in(1, kMaxCount),
    field<&CheckpointConfig::every_minutes>("every_minutes", "Commit when so many minutes have passed since the last one, instead of at the end of each epoch.").above(0),
    field<&CheckpointConfig::monitor>("monitor", "Metric that decides which checkpoint is `best`, e.g. val/accuracy."),
    field<&CheckpointConfig::keep>("keep", "Older checkpoints kept beside last and best.").in(0, 1e6),
};
constexpr Field kTrain[] = {
    field<&TrainConfig::epochs>("epochs", "Passes over the training split; with `steps`, exactly one is given.").in(1, kMaxCount).as(Role::horizon).bits_when<schedule_reads_total>(),
    field<&TrainConfig::steps>("steps", "Optimizer steps, instead of epochs.").in(1, kMaxCount).as(Role::horizon).bits_when<schedule_reads_total>(),
    field<&TrainConfig::max_steps>("max_steps", "End after this many steps; bends no schedule.").in(1, kMaxCount).as(Role::horizon),
    field<&TrainConfig::max_minutes>("max_minutes", "End after this many minutes of this process.").above(0).as(Role::horizon),
    field<&TrainConfig::shards>("shards", "Parts of a batch that are executed whole and whose gradients are added as a tree.").in(1, 65536),
    field<&TrainConfig::shards_per_pass>("shards_per_pass", "Shards executed side by side; the others follow.").in(1, 65536).as(Role::nuisance),
    field<&TrainConfig::clip_grad_norm>("clip_grad_norm", "Largest global L2 norm of the gradients; larger ones are scaled down.").above(0),
    field<&TrainConfig::eval_every_epochs>("eval_every_epochs", "Evaluate at the end of every so many epochs.").in(1, kMaxCount).as(Role::nuisance).bits_when<hooks_listen>(),
    field<&TrainConfig::eval_every_steps>("eval_every_steps", "Evaluate every so many steps, instead of at the end of epochs.").in(1, kMaxCount).as(Role::nuisance).bits_when<hooks_listen>(),
    field<&TrainConfig::log_every>("log_every", "Store and show loss, lr and gradient norm every so many steps.").in(1, kMaxCount).as(Role::nuisance),
    field<&TrainConfig::checkpoint>("checkpoint", "When checkpoints are written and which are kept.").as(Role::nuisance),
};
constexpr Field kRun[] = {
    field<&RunConfig::name>("name", "Name of the run (default: the file's name without extension); `--resume=auto` looks for the newest run of this name.").as(Role::nuisance),
    field<&RunConfig::seed>("seed", "Key of every random number: initial values, order, dropout, augmentation.").in(0, kMaxCount),
    field<&RunConfig::device>("device", "Where tensors live.").as(Role::nuisance),
    field<&RunConfig::numerics>("numerics", "The numeric contract that kernels keep."),
    field<&RunConfig::data>("data", "Splits, transforms and the loader."),
    field<&RunConfig::models>("models", "The networks by id.").singular("model").items(1),
    field<&RunConfig::losses>("losses", "What is minimised: losses, each with a factor `coef`.").singular("loss").items(1),
    field<&RunConfig::optims>("optims", "The optimizers by id.").singular("optim").items(1),
    field<&RunConfig::task>("task", "The algorithm of a step.").otherwise("supervised"),
    field<&RunConfig::metrics>("metrics", "What evaluations report beside the loss."),
    field<&RunConfig::train>("train", "How long, how often, how far."),
    field<&RunConfig::hooks>("hooks", "Logic at fixed points of the run, in this order."),
};

}  // namespace

bool schedule_reads_total(const RunConfig& c) {
  for (const auto& o : c.optims.items) {
    if (!o) continue;
    const auto& schedule = o.common_as<OptimizerDef>().schedule;
    if (schedule && schedule.make()->reads_total()) return true;
  }
  return false;
}

RunConfig::RunConfig() = default;
RunConfig::RunConfig(const RunConfig&) = default;
RunConfig::RunConfig(RunConfig&&) noexcept = default;
RunConfig& RunConfig::operator=(const RunConfig&) = default;
RunConfig& RunConfig::operator=(RunConfig&&) noexcept = default;
RunConfig::~RunConfig() = default;

std::span<const Field> fields_of(const LoaderConfig*) { return kLoader; }
std::span<const Field> fields_of(const DataConfig*) { return kData; }
std::span<const Field> fields_of(const CheckpointConfig*) { return kCheckpoint; }
std::span<const Field> fields_of(const TrainConfig*) { return kTrain; }
std::span<const Field> fields_of(const RunConfig*) { return kRun; }

std::string val_split_id(const AnyRef& v) { return v.id.empty() || v.id == "main" ? "val" : v.id; }

std::string DataConfig::problem() const {
  for (const auto& [split, list] : transforms)
    if (split != "all" && split != "train" && split != "val" && split != "test")
      return fmt::format("transforms are given for the split '{}'; the splits are all, train, val and test", split);
  std::set<std::string> ids;
  for (const auto& v : val.items)
    if (!ids.insert(val_split_id(v)).second)
      return fmt::format("two validation splits would report their metrics as '{0}/...' (an id `main` is reported as `val`); choose another id than '{1}'", val_split_id(v), v.id);
  for (const auto& v : val.items)
    if (v.id == "train" || v.id == "test")
      return fmt::format("a validation split cannot be called '{}': metrics of the {} split have that name; choose another id", v.id, v.id);
  return {};
}

std::string RunConfig::problem() const {
  constexpr std::size_t kLongest = 200;
  if (name.empty() || name.size() > kLongest) return fmt::format("name: a run's name has 1 to {} bytes, and this one {}", kLongest, name.size());
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return "name: a run's name has no control characters";
  if (name == "last") return "name: 'last' means the newest run; choose another name";
  return {};
}

std::string TrainConfig::problem() const {
  if (epochs && steps) return "both epochs and steps are given; one of them says how long the run is: remove one (null takes an inherited one away)";
  if (!epochs && !steps) return "neither epochs nor steps is given; one of them says how long the run is";
  return {};
}

const Registry& builtin_registry() {
  static const Registry registry{builtin_components()};
  return registry;
}

LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides, Diagnostics& diagnostics) {
  LoadedConfig out;
  std::vector<Diagnostic> kept;
  const auto rules = position_rules<RunConfig>(builtin_registry());
  out.composed = compose(file, overrides, diagnostics, *rules);
  const Node& root = out.composed.root;
  Diagnostics found;
  Reader reader{builtin_registry(), found};
  if (!(diagnostics.has_errors() && root.is_null())) read(root, out.config, reader);
  // Where a file could not be read as a whole, what is not there may stand in the rest: only what is there is judged.
  for (const Diagnostic& d : found.list()) {
    const bool absent = d.origin == root.origin && find_path(root, d.path) == nullptr;
    if (!(diagnostics.has_errors() && absent)) kept.push_back(d);
  }
  for (Diagnostic& d : kept) diagnostics.add(std::move(d));
  if (out.composed.root.find("name") == nullptr) out.config.name = std::filesystem::path(file).stem().string();
  return out;
}

LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides) {
  Diagnostics diagnostics;
  LoadedConfig out = load_config(file, overrides, diagnostics);
  diagnostics.throw_errors();
  return out;
}

}  // namespace lockstep
