// What a forward knows besides its arguments: modes, the place in the model, the keys of randomness. One copyable value.
#pragma once

#include <string_view>

#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// Key of one random draw of an op (NUMERICS R1): Philox key and the counter words above the element block.
struct RngKey {
  std::uint64_t key = 0;
  std::uint32_t step = 0, shard = 0, draw = 0;   // draw = phase << 24 | draw within the forward
  bool operator==(const RngKey&) const = default;
};

/// Where in the run the current forward stands. Equal frames give equal random numbers.
struct RngFrame {
  std::uint64_t seed = 0;
  std::uint32_t step = 0, phase = 0, shard = 0;
};

/// One link per module being called, on the stack. `draws` counts random draws of this module within the forward,
/// so that it lives in the module's own counter cell: a module called twice draws twice.
struct ModuleFrame {
  const ModuleFrame* parent = nullptr;
  std::string_view path;           // canonical dotted path, e.g. "body.3.dropout"
  std::string_view origin;         // "configs/x.yaml:14:9" or empty
  std::uint64_t key = 0;           // Philox key of (seed, "dropout", path), computed once when the module is built
  std::uint32_t* draws = nullptr;  // counter of the running forward; see DrawCounters
};

/// A buffer update that a forward asks for (batch-norm statistics), applied once per step, in shard order.
/// new = (1 - momentum) * old + momentum * mean over shards of `statistic`; without a statistic the buffer counts steps: += 1.
struct Effect {
  Tensor buffer, statistic;
  double momentum = 0.1;
  std::uint32_t shard = 0;
};
struct Effects {
  std::vector<Effect> list;
};

/// Called around every kernel or composite by apply(); timing, FLOP and byte counts, traces are written against it.
struct OpDef;
struct Profiler {
  virtual ~Profiler() = default;
  virtual void before(const OpDef& op, std::span<const Tensor> in) = 0;
  virtual void after(const OpDef& op, std::span<const Tensor> out) = 0;
};
/// Sees every apply() with its attributes: graph recording and export.
class Attrs;
struct Tracer {
  virtual ~Tracer() = default;
  virtual void record(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs, std::span<const Tensor> out) = 0;
};

struct Scope {
  bool grad = true;                // record history
  bool training = false;           // dropout draws, batch norm uses batch statistics
  bool detect_anomaly = false;     // every op's float outputs are checked for NaN and infinity; throws numeric
  DType compute = DType::f32;      // autocast target; f32 = off
  RngFrame rng;
  const ModuleFrame* module = nullptr;
  Effects* effects = nullptr;      // null: buffer updates are dropped (evaluation, recompute)
  Tracer* tracer = nullptr;
  Profiler* profiler = nullptr;
};
extern constinit thread_local Scope scope;

/// Sets the scope until the end of the block.
class Within {
 public:
  explicit Within(const Scope& s) : saved_(scope) { scope = s; }
  ~Within() { scope = saved_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  Scope saved_;
};
/// The current scope with history off, until the end of the block.
class NoGrad {
 public:
  NoGrad() : saved_(scope.grad) { scope.grad = false; }
  ~NoGrad() { scope.grad = saved_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool saved_;
};

/// The next key of the module being called: a function of (seed, module path, step, phase, shard, draw).
/// Throws internal outside a module's forward.
RngKey next_key();

}  // namespace lockstep
