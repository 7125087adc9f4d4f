// Observer: what a run tells the outside while it works. Terminals, JSON and tests listen here; nothing is decided here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/runtime/evaluate.h"

namespace lockstep {

struct StepEvent {
  std::int64_t step = 0, total_steps = 0, epoch = 0, total_epochs = 0;   // done; total_epochs 0 when given in steps
  double loss = 0, lr = 0, grad_norm = 0;
  double samples_per_s = 0;                                              // since the last event
  bool logged = false;                                                   // also a row in the store
};
struct StartEvent {
  std::string run, name, directory;
  std::int64_t step = 0, total_steps = 0, parameters = 0, train_samples = 0, steps_per_epoch = 0;
  int threads = 1, workers = 0;
  std::string isa;
  bool resumed = false;
};
struct CommitEvent {
  std::int64_t step = 0;
  std::string state_hash;
  bool best = false;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const StartEvent&) {}
  /// Nanoseconds between calls of stepped() that are not logged; 0 calls it for logged steps only.
  [[nodiscard]] virtual std::int64_t step_interval_ns() const { return 0; }
  virtual void stepped(const StepEvent&) {}
  virtual void evaluated(std::int64_t, std::int64_t, const Evaluation&) {}   // step, epoch
  virtual void committed(const CommitEvent&) {}
  /// Things to tell a person once: damaged checkpoints, retried commits, network file systems.
  virtual void said(std::string_view) {}
};

}  // namespace lockstep
