// The reverse walk: which nodes matter, in which order they run, where contributions are added.
#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/ops/ops.h"
#include "lockstep/tensor/grad_node.h"

namespace lockstep {
namespace {

using NodePtr = std::shared_ptr<GradNode>;

std::string place(const GradNode& n) {
  if (n.module_path.empty()) return "outside any module";
  return n.module_origin.empty() ? fmt::format("in module '{}'", n.module_path)
                                 : fmt::format("in module '{}' ({})", n.module_path, n.module_origin);
}

/// One node of the walk with the gradients of its outputs.
struct Stop {
  NodePtr node;
  Tensors grads;
  bool needed = false;
  bool target = false;
};

/// All nodes below the roots, newest first.
std::vector<Stop> collect(std::span<const Tensor> roots) {
  const auto older = [](const NodePtr& a, const NodePtr& b) { return a->number < b->number; };
  std::vector<NodePtr> heap;
  for (const Tensor& r : roots)
    if (r.requires_grad()) heap.push_back(r.node());
  std::ranges::make_heap(heap, older);
  std::vector<Stop> stops;
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, older);
    const NodePtr n = std::move(heap.back());
    heap.pop_back();
    if (!stops.empty() && stops.back().node == n) continue;
    stops.push_back({n, Tensors(n->out_meta.size()), false, false});
    for (const Edge& e : n->edges)
      if (e.node) {
        heap.push_back(e.node);
        std::ranges::push_heap(heap, older);
      }
  }
  return stops;
}

Stop* find(std::vector<Stop>& stops, const GradNode& n) {
  const auto it =
      std::ranges::lower_bound(stops, n.number, std::greater<>{}, [](const Stop& s) { return s.node->number; });
  return it != stops.end() && it->node.get() == &n ? &*it : nullptr;
}

/// Undoes broadcasting: sums `g` down to `to`.
Tensor summed_to(const OpDef& op, const Tensor& g, const Shape& to) {
  if (g.shape() == to) return g;
  Shape axes;
  const std::size_t lead = g.rank() < to.rank() ? 0 : g.rank() - to.rank();
  bool fits = g.rank() >= to.rank();
  for (std::size_t i = 0; fits && i < g.rank(); ++i) {
    const std::int64_t want = i < lead ? 1 : to[i - lead];
    if (i < lead || (want == 1 && g.shape()[i] != 1))
      axes.push_back(static_cast<std::int64_t>(i));
    else
      fits = want == g.shape()[i];
  }
  if (!fits)
    failf(Category::internal,
          "{}: its derivative rule returned a gradient of shape {} for an input of shape {}; it must be that shape or "
          "broadcast from it",
          op.name, text(g.shape()), text(to));
  return reshape(axes.rank() == 0 ? g : sum(g, axes, true), to);
}

void add_to(Tensor& sum_so_far, const Tensor& g) { sum_so_far = sum_so_far.defined() ? add(sum_so_far, g) : g; }

void check_saved(const GradNode& n, const Saved& s, std::string_view what, std::size_t index) {
  if (s.tensor.defined() && s.tensor.version() != s.version)
    failf(Category::usage,
          "backward of '{}' {}: {} {} of shape {} was overwritten after it was saved (version {}, saved at {}); "
          "write in place only after the backward, or to a copy",
          n.op->name, place(n), what, index, text(s.tensor.shape()), s.tensor.version(), s.version);
}

/// The inputs as the rule sees them: saved ones, or shapes.
Tensors inputs_of(const GradNode& n) {
  Tensors out;
  for (std::size_t i = 0; i < n.in_meta.size(); ++i) {
    if (i < n.in.size()) {
      check_saved(n, n.in[i], "input", i);
      out.push_back(n.in[i].tensor);
    } else {
      out.push_back(((n.present >> i) & 1U) != 0 ? meta_tensor(n.in_meta[i]) : Tensor());
    }
  }
  return out;
}

Tensors outputs_of(const NodePtr& n, bool create_graph) {
  Tensors out;
  for (std::size_t i = 0; i < n->out_meta.size(); ++i) {
    if (i < n->out.size()) {
      check_saved(*n, n->out[i], "output", i);
      out.push_back(create_graph ? with_history(n->out[i].tensor, n, i) : n->out[i].tensor);
    } else {
      out.push_back(meta_tensor(n->out_meta[i]));
    }
  }
  return out;
}

/// An op without a rule: its composition is run again on the saved inputs and that graph is walked.
Tensors through_reference(const GradNode& n, std::span<const Tensor> in, std::span<const Tensor> grads,
                          std::uint32_t wanted, bool create_graph) {
  Tensors fresh(in.begin(), in.end()), targets;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (((wanted >> i) & 1U) == 0) {
      if (fresh[i].defined() && !create_graph) fresh[i] = fresh[i].detach();
      continue;
    }
    // A new handle, so that an input which depends on another one does not pull that one's path in.
    fresh[i] = create_graph && in[i].requires_grad() ? reshape(in[i], in[i].shape()) : in[i].detach().requires_grad_();
    targets.push_back(fresh[i]);
  }
  Tensors roots;
  {
    Scope s = scope;
    s.grad = true;
    const Within within(s);
    roots = n.op->reference(fresh, n.attrs);
  }
  Tensors used, seeds;
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (grads[i].defined() && roots[i].requires_grad()) {
      used.push_back(roots[i]);
      seeds.push_back(grads[i]);
    }
  const Tensors got = gradients_of(used, seeds, targets,
                                   {.create_graph = create_graph, .retain_graph = create_graph, .allow_unused = true});
  Tensors out(in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (((wanted >> i) & 1U) != 0) out[i] = got[next++];
  return out;
}

Tensors derivative(const Stop& stop, std::uint32_t wanted, bool create_graph) {
  const GradNode& n = *stop.node;
  if (n.released)
    failf(Category::usage,
          "backward of '{}' {}: this graph was already walked and its saved tensors were released; pass retain_graph "
          "to walk it twice",
          n.op->name, place(n));
  const Tensors in = inputs_of(n);
  // The error and anomaly texts of what runs now name the module of the forward.
  const ModuleFrame frame{.parent = scope.module, .path = n.module_path, .origin = n.module_origin};
  Scope s = scope;
  s.module = &frame;
  const Within within(s);
  if (n.op->vjp == nullptr) return through_reference(n, in, stop.grads, wanted, create_graph);
  const Tensors out = outputs_of(stop.node, create_graph);
  return n.op->vjp({*n.op, in, out, stop.grads, n.attrs, wanted});
}

void run_hooks(const GradNode& n, Tensors& grads) {
  for (const GradHook& h : *n.hooks) {
    if (!grads[h.output].defined()) continue;
    const Tensor g = h.run(grads[h.output]);
    if (!g.defined()) continue;
    if (g.shape() != grads[h.output].shape() || g.dtype() != grads[h.output].dtype())
      failf(Category::usage, "a gradient hook returned shape {} {} for a gradient of shape {} {}; they must be equal",
            text(g.shape()), text(g.dtype()), text(grads[h.output].shape()), text(grads[h.output].dtype()));
    grads[h.output] = g;
  }
}

void visit(std::vector<Stop>& stops, Stop& stop, const GradOptions& o) {
  const NodePtr& n = stop.node;
  std::uint32_t wanted = 0;
  std::array<Stop*, 32> into{};
  for (std::size_t i = 0; i < n->edges.size(); ++i) {
    if (!n->edges[i].node) continue;
    into[i] = find(stops, *n->edges[i].node);
    if (into[i] != nullptr && into[i]->needed) wanted |= 1U << i;
  }
  if (wanted == 0) return;
  const Tensors got = derivative(stop, wanted, o.create_graph);
  if (got.size() != n->edges.size())
    failf(Category::internal, "{}: its derivative rule returned {} gradients for {} inputs", n->op->name, got.size(),
          n->edges.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (((wanted >> i) & 1U) == 0 || !got[i].defined()) continue;
    const Tensor g = summed_to(*n->op, got[i], n->in_meta[i].shape);
    if (g.dtype() != n->in_meta[i].dtype)
      failf(Category::internal, "{}: its derivative rule returned {} for an input of dtype {}", n->op->name,
            text(g.dtype()), text(n->in_meta[i].dtype));
    add_to(into[i]->grads[n->edges[i].index], g);
  }
  if (!o.retain_graph && !o.create_graph) {
    n->in.clear();
    n->out.clear();
    n->released = true;
  }
}

void check_input(const Tensor& t, std::size_t i) {
  if (!t.defined()) failf(Category::usage, "gradients: input {} is undefined; pass tensors that exist", i);
  if (!is_floating(t.dtype()))
    failf(Category::usage, "gradients: input {} of shape {} has dtype {}; only floating tensors have gradients", i,
          text(t.shape()), text(t.dtype()));
  if (!t.requires_grad())
    failf(Category::usage,
          "gradients: input {} of shape {} has no history: it was never marked with requires_grad_(), was detached, or "
          "was computed under NoGrad; "
          "mark it before the forward",
          i, text(t.shape()));
}

void check_seed(const Tensor& root, const Tensor& seed) {
  if (seed.shape() != root.shape() || seed.dtype() != root.dtype())
    failf(Category::usage, "gradients: the seed has shape {} {}, the tensor it belongs to {} {}; they must be equal",
          text(seed.shape()), text(seed.dtype()), text(root.shape()), text(root.dtype()));
}

}  // namespace

Tensors gradients_of(std::span<const Tensor> roots, std::span<const Tensor> seeds, std::span<const Tensor> inputs,
                     const GradOptions& o) {
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(inputs[i], i);
  if (roots.size() != seeds.size())
    failf(Category::internal, "gradients_of got {} roots and {} seeds", roots.size(), seeds.size());
  Scope s = scope;
  s.grad = o.create_graph;
  const Within within(s);
  std::vector<Stop> stops = collect(roots);
  for (const Tensor& t : inputs)
    if (Stop* stop = find(stops, *t.node())) stop->target = stop->needed = true;
  for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop)
    for (const Edge& e : stop->node->edges)
      if (e.node && find(stops, *e.node)->needed) stop->needed = true;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i].requires_grad()) continue;
    check_seed(roots[i], seeds[i]);
    add_to(find(stops, *roots[i].node())->grads[roots[i].output_index()], seeds[i]);
  }
  for (Stop& stop : stops) {
    if (!stop.needed) continue;
    bool any = false;
    for (const Tensor& g : stop.grads) any = any || g.defined();
    if (!any) continue;
    if (stop.node->hooks) run_hooks(*stop.node, stop.grads);
    visit(stops, stop, o);
    if (!stop.target) stop.grads.clear();
  }
  Tensors out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    Stop* stop = find(stops, *t.node());
    if (stop == nullptr && !o.allow_unused)
      failf(Category::usage,
            "gradients: the total does not depend on input {} of shape {}; every input must take part, or pass "
            "allow_unused",
            i, text(t.shape()));
    Tensor g = stop == nullptr ? Tensor() : stop->grads[t.output_index()];
    if (stop != nullptr && !g.defined())
      g = fill(t.shape(), 0, t.dtype(), t.device());  // it depends, with derivative zero
    out.push_back(std::move(g));
  }
  return out;
}

Tensors gradients(const Tensor& total, std::span<const Tensor> inputs, const GradOptions& o, const Tensor& seed) {
  if (!total.defined()) fail(Category::usage, "gradients: the total is undefined; pass the result of a forward");
  if (!is_floating(total.dtype()))
    failf(Category::usage, "gradients: the total of shape {} has dtype {}; only floating tensors have gradients",
          text(total.shape()), text(total.dtype()));
  if (!total.requires_grad())
    failf(Category::usage,
          "gradients: the total of shape {} has no history: it was computed under NoGrad, from detached or integer "
          "tensors only, or no input "
          "was marked with requires_grad_()",
          text(total.shape()));
  if (!seed.defined() && total.numel() != 1)
    failf(Category::usage,
          "gradients: the total has shape {} with {} elements; it needs one element, or a seed of its shape: sum() it "
          "first",
          text(total.shape()), total.numel());
  const Tensor start = seed.defined() ? seed : fill(total.shape(), 1, total.dtype(), total.device());
  return gradients_of({&total, 1}, {&start, 1}, inputs, o);
}

std::uint64_t add_hook(const Tensor& t, std::function<Tensor(const Tensor&)> f) {
  if (!t.requires_grad())
    failf(Category::usage, "add_hook: the tensor of shape {} has no history, so no walk reaches it", text(t.shape()));
  auto& hooks = t.node()->hooks;
  if (!hooks) hooks = std::make_unique<std::vector<GradHook>>();
  hooks->push_back({next_node_number(), t.output_index(), std::move(f)});
  return hooks->back().id;
}

void remove_hook(const Tensor& t, std::uint64_t id) {
  if (t.requires_grad() && t.node()->hooks)
    std::erase_if(*t.node()->hooks, [id](const GradHook& h) { return h.id == id; });
}

}  // namespace lockstep
