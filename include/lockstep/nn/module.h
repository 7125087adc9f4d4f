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
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Opens the module's frame (path, YAML origin, RNG key), runs pre-hooks, forward, post-hooks.
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
  /// Called at every forward of this module, in order of addition. Returns an id for remove_hook.
  std::uint64_t add_hook(Hook h);
  void remove_hook(std::uint64_t id);

 protected:
  /// Takes path, origin and keys from the context that builds this module.
  explicit Module(const BuildContext& b);
  [[nodiscard]] virtual Tensors forward(std::span<const Tensor> in) const = 0;
  /// A trainable leaf, initialised by (seed, canonical name) (NUMERICS R4). On the dry run: a meta tensor.
  Tensor parameter(std::string_view name, const Shape& s, Init init);
  /// Saved and hashed, not trained; filled with `value`.
  Tensor buffer(std::string_view name, const Shape& s, double value, DType t = DType::f32);
  /// Registers a child made by BuildContext::child (its path already says where it hangs).
  void adopt(const Module& child);

 private:
  std::string path_, origin_;
  std::uint64_t seed_ = 0, rng_key_ = 0;
  DType dtype_ = DType::f32;
  std::vector<NamedTensor> own_;
  std::vector<const Module*> children_;
  std::vector<std::pair<std::uint64_t, Hook>> hooks_;
};

/// A whole network: what `model:` names. forward: input fields in the order of the spec -> one output, "logits".
class Model : public Module {
 public:
  static constexpr std::string_view kKind = "models";

 protected:
  using Module::Module;
};

using LayerDef = ComponentOf<Module, const BuildContext&>;
using ModelDef = ComponentOf<Model, const BuildContext&>;

/// What a factory knows when it builds: metas of its inputs (a dry run goes along), its path, and the data's spec.
struct BuildContext {
  std::span<const Meta> in;
  std::string path;                                     // "" for the root model
  std::string origin;
  std::uint64_t seed = 0;
  DType dtype = DType::f32;                             // of parameters: f32 or f64
  const SampleSpec* spec = nullptr;                     // of the training data; null when built from C++ alone

  struct Built {
    std::unique_ptr<Module> module;
    std::vector<Meta> out;
  };
  /// Builds a child at `path.name` with the inputs `inputs`, dry-runs it, and returns it with the metas of its outputs.
  /// Errors gain a frame with the child's path and YAML line.
  [[nodiscard]] Built child(const Ref<LayerDef>& what, std::string_view name, std::span<const Meta> inputs) const;
  /// The context of a child built by hand.
  [[nodiscard]] BuildContext at(std::string_view name, std::span<const Meta> inputs) const;
  /// Size of the last axis of input 0. Throws usage when it has no axis.
  [[nodiscard]] std::int64_t in_features() const;
  /// num_classes of the first target, or nothing.
  [[nodiscard]] std::optional<std::int64_t> num_classes() const;
};

/// A list of layers run one after the other; names are `id` or the index. Shared by `layers:`, residual, sequential.
class Chain {
 public:
  Chain() = default;
  /// Builds every layer below `b.path` (each `repeat`ed as its item says) starting from `b.in`.
  Chain(std::span<const Ref<LayerDef>> layers, const BuildContext& b);
  [[nodiscard]] Tensors run(std::span<const Tensor> in) const;
  [[nodiscard]] std::span<const std::unique_ptr<Module>> modules() const { return modules_; }
  [[nodiscard]] const std::vector<Meta>& out() const { return out_; }

 private:
  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<Meta> out_;
};

}  // namespace lockstep
