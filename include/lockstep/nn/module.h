// Module: named parameters, buffers and children; forward is const, so that inference is concurrent.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lockstep/component/component.h"
#include "lockstep/data/fields.h"
#include "lockstep/nn/init.h"
#include "lockstep/state/visitor.h"
#include "lockstep/tensor/op.h"

namespace lockstep {

class Module;
struct BuildContext;

/// A named leaf of the model. `name` is the canonical dotted name (PyTorch's: "0.weight", "body.bn.running_mean").
struct NamedTensor {
  std::string name;
  Tensor tensor;
  StateKind kind = StateKind::parameter;
};

class Module {
 public:
  static constexpr std::string_view kKind = "layers";
  static constexpr Beside kBeside = {.repeat = true};
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Opens the module's frame (path, YAML origin, RNG key), runs pre-hooks, forward, post-hooks. The outermost call is a
  /// forward of its own: random draws of every module below it count from 0. Errors gain a frame that names the module.
  Tensors operator()(std::span<const Tensor> in) const;
  Tensor operator()(const Tensor& x) const;             // one input, one output

  [[nodiscard]] const std::string& path() const { return path_; }
  /// "configs/x.yaml:14:9", or empty for modules built from C++.
  [[nodiscard]] const std::string& origin() const { return origin_; }
  /// This module's own tensors, then the children's, in registration order.
  [[nodiscard]] std::vector<NamedTensor> state_tensors() const;
  [[nodiscard]] std::span<const Module* const> children() const { return children_; }
  /// Visits every tensor under its canonical name.
  void state(StateVisitor& v);

  using Hook = std::function<void(const Module&, std::span<const Tensor> in, Tensors* out)>;   // out null before forward
  /// Called at every forward of this module, in order of addition: before it, and after it with the outputs, which may be
  /// replaced. Not while a forward runs. Returns an id for remove_hook.
  std::uint64_t add_hook(Hook h);
  void remove_hook(std::uint64_t id);

 protected:
  /// Takes path, origin and keys from the context that builds this module.
  explicit Module(const BuildContext& b);
  [[nodiscard]] virtual Tensors forward(std::span<const Tensor> in) const = 0;
  /// A trainable leaf, initialised by (seed, canonical name) (NUMERICS R4). On Device::meta: a meta tensor.
  /// Throws usage when this module already has a tensor of that name.
  Tensor parameter(std::string_view name, const Shape& s, Init init);
  /// Saved and hashed, not trained; filled with `value`.
  Tensor buffer(std::string_view name, const Shape& s, double value, DType t = DType::f32);
  /// Registers a child made by BuildContext::child (its path already says where it hangs).
  void adopt(const Module& child);

 private:
  friend std::string frame_text(const Module& m);
  Tensor& add_tensor(std::string_view name, Tensor t, StateKind kind);
  std::string path_, origin_;
  std::uint64_t seed_ = 0, rng_key_ = 0;
  std::size_t number_ = 0;                              // of this module in the process: its cell among the draw counters
  std::uint64_t hooks_made_ = 0;
  DType dtype_ = DType::f32;
  Device device_ = Device::cpu;
  std::vector<NamedTensor> own_;
  std::vector<const Module*> children_;
  std::vector<std::pair<std::uint64_t, Hook>> hooks_;
};

/// A whole network: what `model:` names. forward: input fields in the order of the spec -> one output, "logits".
class Model : public Module {
 public:
  static constexpr std::string_view kKind = "models";
  static constexpr Mark kMarks[] = {{"layers", "sequential"}};

 protected:
  using Module::Module;
};

using LayerDef = ComponentOf<Module, const BuildContext&>;
using ModelDef = ComponentOf<Model, const BuildContext&>;

/// What a factory knows when it builds: metas of its inputs (a dry run goes along), its path, and the data's spec.
struct BuildContext {
  std::span<const Meta> in{};
  std::string path{};                                   // "" for the root model
  std::string origin{};
  std::uint64_t seed = 0;
  DType dtype = DType::f32;                             // of parameters: f32 or f64
  const SampleSpec* spec = nullptr;                     // of the training data; null when built from C++ alone
  Device device = Device::cpu;                          // of parameters; meta: shapes only, nothing is allocated

  struct Built {
    std::unique_ptr<Module> module{};
    std::vector<Meta> out{};
  };
  /// Builds a child at `path.name` with the inputs `inputs`, dry-runs it, and returns it with the metas of its outputs.
  /// Errors gain a frame with the child's path, its YAML line and the metas of its inputs.
  [[nodiscard]] Built child(const Ref<LayerDef>& what, std::string_view name, std::span<const Meta> inputs) const;
  /// The context of a child built by hand.
  [[nodiscard]] BuildContext at(std::string_view name, std::span<const Meta> inputs) const;
  /// Size of the last axis of input 0. Throws usage when it has no axis.
  [[nodiscard]] std::int64_t in_features() const;
  /// num_classes of the first target, or nothing.
  [[nodiscard]] std::optional<std::int64_t> num_classes() const;
};

/// Metas of what `m` makes of inputs like `in`: a forward on meta tensors in evaluation mode, without history.
std::vector<Meta> dry_run(const Module& m, std::span<const Meta> in);

/// A list of layers run one after the other. A layer's name is its `id`, or its position in the list with repeats written
/// out; copies of a repeated layer with an `id` are id.0, id.1, ... Shared by `layers:`, residual, sequential.
class Chain {
 public:
  Chain() = default;
  /// Builds every layer below `b.path` starting from `b.in`. Throws usage when two layers have one name.
  Chain(std::span<const Ref<LayerDef>> layers, const BuildContext& b);
  [[nodiscard]] Tensors run(std::span<const Tensor> in) const;
  [[nodiscard]] std::span<const std::unique_ptr<Module>> modules() const { return modules_; }
  [[nodiscard]] const std::vector<Meta>& out() const { return out_; }
  /// Appends a layer that was built by hand.
  void append(BuildContext::Built built);

 private:
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Meta> out_;
};

/// A model and the metas of its outputs for `rows` rows.
struct BuiltModel {
  std::unique_ptr<Model> module{};
  std::vector<Meta> out{};
};
/// Builds the model of a run for data of `spec` and dry-runs it. On Device::meta only shapes are worked out.
/// Throws usage: a layer that does not fit (with its path, YAML line and shapes); no input field; not one output that
/// keeps the batch axis.
BuiltModel build_model(const Ref<ModelDef>& what, const SampleSpec& spec, std::uint64_t seed, DType dtype = DType::f32,
                       Device device = Device::cpu, std::int64_t rows = 2);

}  // namespace lockstep
