// The one reverse walk, and the checker that compares it with finite differences.
#pragma once

#include <functional>

#include "lockstep/tensor/op.h"

namespace lockstep {

struct GradOptions {
  bool create_graph = false;       // record the walk, for higher derivatives
  bool retain_graph = false;       // keep saved tensors (create_graph implies it)
  bool allow_unused = false;       // an input that `total` does not depend on gives an undefined gradient instead of an error
};

/// d total / d inputs. `total` has one element (or `seed` has its shape). Nodes are visited in descending creation order;
/// contributions to one tensor are added in the order of the edges; broadcasts are undone here, once.
/// Throws usage: total needs no gradient; an input is unused (names it); a saved tensor was overwritten; graph already released.
Tensors gradients(const Tensor& total, std::span<const Tensor> inputs, const GradOptions& o = {}, const Tensor& seed = {});

/// The same for several roots at once: the derivative of sum_i <seeds[i], roots[i]>. Roots without history add nothing.
Tensors gradients_of(std::span<const Tensor> roots, std::span<const Tensor> seeds, std::span<const Tensor> inputs, const GradOptions& o = {});

/// Calls `f` with the complete gradient of `t` in every walk that reaches it; a defined result replaces the gradient.
/// Hooks of one tensor run in the order in which they were added. Throws usage when `t` has no history.
std::uint64_t add_hook(const Tensor& t, std::function<Tensor(const Tensor&)> f);
/// Forgets a hook; an unknown id is ignored.
void remove_hook(const Tensor& t, std::uint64_t id);

/// Compares gradients with central differences in f64. Returns an empty string, or what disagrees (input, element, both values).
/// `f` maps the inputs to one tensor of any shape; a fixed keyed projection makes it a scalar.
std::string gradcheck(Tensors (*f)(std::span<const Tensor>, const void* context), const void* context,
                      std::span<const Tensor> inputs, double tolerance = 1e-6);
/// The same one order higher: gradcheck of the gradient itself.
std::string gradgradcheck(Tensors (*f)(std::span<const Tensor>, const void* context), const void* context,
                          std::span<const Tensor> inputs, double tolerance = 1e-5);

}  // namespace lockstep
