// One recorded apply(): what the reverse walk reads. Made only by apply() and by Tensor::requires_grad_.
#pragma once

#include <functional>

#include "lockstep/tensor/op.h"

namespace lockstep {

/// A tensor kept for the derivative, with the version it had. `get` throws usage when it was overwritten since.
struct Saved {
  Tensor tensor;                   // detached handle (outputs) or the input itself
  std::uint64_t version = 0;
};

/// Where a gradient flows: output `index` of `node`.
struct Edge {
  std::shared_ptr<GradNode> node;  // null: the input needs no gradient
  std::size_t index = 0;
};

/// Called with the gradient of output `output` when it is complete; a defined result replaces it.
struct GradHook {
  std::uint64_t id = 0;
  std::size_t output = 0;
  std::function<Tensor(const Tensor&)> run;
};

struct GradNode {
  GradNode() = default;
  ~GradNode();                     // long chains are taken apart in a loop, never by recursion
  GradNode(const GradNode&) = delete;
  GradNode& operator=(const GradNode&) = delete;

  const OpDef* op = nullptr;       // null for a leaf
  Attrs attrs;
  std::uint64_t number = 0;        // creation order; the walk visits in descending order
  std::vector<Edge> edges;         // one per input
  std::vector<Saved> in, out;      // what OpDef::saves names; otherwise metas on Device::meta
  std::vector<Meta> in_meta, out_meta;
  std::string_view module_path, module_origin;   // where in the model it was made; for messages
  std::weak_ptr<TensorImpl> leaf;  // the leaf tensor itself
  std::unique_ptr<std::vector<GradHook>> hooks;  // null: none
  std::uint32_t present = 0;       // bit i: input i was given
  bool released = false;           // saved tensors were dropped by a walk without retain
};

/// The next creation number; unique and ascending over the process.
std::uint64_t next_node_number();
/// A tensor without data and history: what a derivative rule sees of inputs that were not saved.
Tensor meta_tensor(const Meta& m);
/// A new handle on `t`'s data whose history is output `index` of `node`.
Tensor with_history(const Tensor& t, std::shared_ptr<GradNode> node, std::size_t index);

}  // namespace lockstep
