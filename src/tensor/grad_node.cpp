// History nodes: numbering, handles, and taking long chains apart.
#include "lockstep/tensor/grad_node.h"

#include <atomic>

#include "tensor/recycled.h"
#include "tensor/tensor_impl.h"

namespace lockstep {
namespace {

/// What dying nodes leave behind, dropped one after the other by the outermost destructor.
struct Remains {
  std::vector<std::shared_ptr<GradNode>> nodes;
  std::vector<Tensor> tensors;
};
constinit thread_local Remains* remains = nullptr;

void bury(GradNode& n, Remains& r) {
  for (Edge& e : n.edges)
    if (e.node && e.node->op != nullptr) r.nodes.push_back(std::move(e.node));
  for (Saved& s : n.in)
    if (s.tensor.requires_grad() && s.tensor.node()->op != nullptr) r.tensors.push_back(std::move(s.tensor));
}

}  // namespace

GradNode::~GradNode() {
  if (op == nullptr) return;
  if (remains != nullptr) {
    bury(*this, *remains);
    return;
  }
  Remains r;
  remains = &r;
  bury(*this, r);
  while (!r.nodes.empty() || !r.tensors.empty()) {
    if (!r.tensors.empty()) {
      const Tensor last = std::move(r.tensors.back());
      r.tensors.pop_back();
    } else {
      const std::shared_ptr<GradNode> last = std::move(r.nodes.back());
      r.nodes.pop_back();
    }
  }
  remains = nullptr;
}

std::uint64_t next_node_number() {
  static constinit std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

Tensor meta_tensor(const Meta& m) { return Tensor::empty(m.shape, m.dtype, Device::meta); }

Tensor with_history(const Tensor& t, std::shared_ptr<GradNode> node, std::size_t index) {
  if (!t.defined()) return t;
  auto p = std::allocate_shared<TensorImpl>(Recycled<TensorImpl>(), *t.impl());
  p->node = std::move(node);
  p->output_index = index;
  return Tensor(std::move(p));
}

}  // namespace lockstep
