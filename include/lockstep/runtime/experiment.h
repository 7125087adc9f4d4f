// Experiment: what a config becomes. Data, model, losses, optimizer, task, metrics and hooks, built and checked.
#pragma once

#include "lockstep/optim/pipeline.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {

/// One dataset with its transforms.
struct Split {
  std::string id;                                        // "train", "val", "test", or the id under data.val
  std::unique_ptr<Dataset> dataset;
  std::vector<std::unique_ptr<Transform>> transforms;
  SampleSpec spec;                                       // after the transforms
};
struct NamedMetric {
  std::string id;                                        // "accuracy"
  std::unique_ptr<Metric> metric;
};

class Experiment {
 public:
  /// Builds everything and dry-runs it on meta tensors. Errors carry the YAML line that they come from.
  /// Throws usage (config), data (files), resource (device).
  explicit Experiment(const RunConfig& config);
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  RunConfig config;
  Split train;
  std::vector<Split> evals;                              // data.val, by id
  std::unique_ptr<Split> test;                           // opened by open_test()
  std::unique_ptr<Model> model;
  std::vector<NamedLoss> losses;
  std::unique_ptr<Task> task;
  std::vector<NamedMetric> metrics;
  std::vector<std::unique_ptr<Hook>> hooks;
  std::vector<NamedTensor> state;                        // parameters and buffers by name bytes
  std::unique_ptr<OptimPipeline> optim;
  Counters counters;                                     // total steps and steps per epoch, as schedules see them

  /// data.test; throws usage when the config has none.
  const Split& open_test();
  /// "val/accuracy" -> direction; throws usage with the names that evaluations report.
  [[nodiscard]] Direction direction(std::string_view metric) const;
  /// Names that evaluations report, in order: "<split>/loss", then "<split>/<metric>".
  [[nodiscard]] std::vector<std::string> metric_names() const;
  [[nodiscard]] std::uint64_t seed() const { return static_cast<std::uint64_t>(config.seed); }
  /// Model, optimizer and hook state, for checkpoints.
  void visit(StateVisitor& v);
  /// The optimizer as at step 0: zero slots, no update counted. Parameters stay.
  void restart_optim();
  /// The hooks as at step 0.
  void restart_hooks();
  /// What a dry run on shapes cannot see, before hours of training: opens data.test when there is one, and takes the
  /// first batch of every evaluation split. Throws what reading them throws.
  void preflight();

 private:
  Split open(const Ref<DatasetDef>& chosen, std::string_view id, std::string_view family) const;
  void dry_run() const;
};

}  // namespace lockstep
