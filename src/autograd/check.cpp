// Gradient checks against central differences in f64.
#include <cmath>

#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"
#include "lockstep/ops/ops.h"
#include "lockstep/tensor/grad_node.h"

namespace lockstep {
namespace {

using Function = Tensors (*)(std::span<const Tensor>, const void*);
constexpr double kStep = 1e-6;
constexpr PhiloxKey kProjection{0x6772'6164U, 0x6368'6b31U};

/// Fixed weights in [-1, 1), never near 0, for output `index`.
Tensor weights_like(const Tensor& t, std::uint32_t index) {
  PhiloxStream stream(kProjection, {0, index, 0, 0});
  std::vector<double> v;
  for (std::int64_t i = 0, n = t.numel(); i < n; ++i) {
    const double u = stream.uniform() - 0.5;
    v.push_back(u < 0 ? u - 0.5 : u + 0.5);
  }
  return Tensor::of(std::span<const double>(v), t.shape());
}

/// The outputs that can be differentiated.
Tensors floating(Tensors out) {
  std::erase_if(out, [](const Tensor& t) { return !t.defined() || !is_floating(t.dtype()); });
  return out;
}

double projected(Function f, const void* context, std::span<const Tensor> in) {
  const NoGrad off;
  double s = 0;
  std::uint32_t index = 0;
  for (const Tensor& t : floating(f(in, context))) {
    const std::vector<double> a = t.to_doubles(), w = weights_like(t, index++).to_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * w[i];
  }
  return s;
}

bool checked(const Tensor& t) { return t.defined() && t.dtype() == DType::f64; }

/// Fresh leaves on the inputs' own layouts.
Tensors leaves_of(std::span<const Tensor> inputs) {
  Tensors out;
  for (const Tensor& t : inputs) out.push_back(checked(t) ? t.detach().requires_grad_() : t);
  return out;
}

Tensors only_checked(std::span<const Tensor> in) {
  Tensors out;
  for (const Tensor& t : in)
    if (checked(t)) out.push_back(t);
  return out;
}

Tensors projected_gradients(const Tensors& out, const Tensors& weights, std::span<const Tensor> leaves,
                            const GradOptions& o) {
  Tensors roots, seeds;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].requires_grad()) {
      roots.push_back(out[i]);
      seeds.push_back(weights[i]);
    }
  return gradients_of(roots, seeds, leaves, o);
}

}  // namespace

std::string gradcheck(Function f, const void* context, std::span<const Tensor> inputs, double tolerance) {
  const Tensors leaves = leaves_of(inputs);
  Tensors analytic;
  {
    Scope s = scope;
    s.grad = true;
    const Within within(s);
    const Tensors out = floating(f(leaves, context));
    Tensors weights;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i].dtype() != DType::f64)
        return fmt::format("output {} has dtype {}; gradients are checked in float64", i, text(out[i].dtype()));
      weights.push_back(weights_like(out[i], static_cast<std::uint32_t>(i)));
    }
    analytic = projected_gradients(out, weights, only_checked(leaves), {.allow_unused = true});
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!checked(inputs[i])) continue;
    const Tensor& g = analytic[next++];
    const std::vector<double> at = inputs[i].to_doubles();
    const std::vector<double> got = g.defined() ? g.to_doubles() : std::vector<double>(at.size(), 0.0);
    if (got.size() != at.size())
      return fmt::format("input {}: the gradient has shape {}, the input {}", i, text(g.shape()),
                         text(inputs[i].shape()));
    for (std::size_t e = 0; e < at.size(); ++e) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Tensors moved(inputs.begin(), inputs.end());
        std::vector<double> v = at;
        v[e] += side == 0 ? -kStep : kStep;
        moved[i] = Tensor::of(std::span<const double>(v), inputs[i].shape());
        sides[side] = projected(f, context, moved);
      }
      const double numeric = (sides[1] - sides[0]) / (2 * kStep);
      if (!(std::abs(numeric - got[e]) <= tolerance * (1 + std::abs(numeric))))
        return fmt::format("input {} element {}: the gradient is {}, central differences give {} (tolerance {})", i, e,
                           got[e], numeric, tolerance);
    }
  }
  return {};
}

namespace {

/// The gradient as a function of the inputs and of the output weights, to be checked itself.
struct Inner {
  Function f;
  const void* context;
  std::size_t inputs;
};
Tensors gradient_function(std::span<const Tensor> in, const void* context) {
  const auto& inner = *static_cast<const Inner*>(context);
  Scope s = scope;
  s.grad = true;
  const Within within(s);
  // Aliases with history of their own: the inputs may be constants here, and the outer walk must see the path through
  // them.
  Tensors x;
  for (const Tensor& t : in.first(inner.inputs))
    x.push_back(!checked(t) ? t : t.requires_grad() ? reshape(t, t.shape()) : t.detach().requires_grad_());
  const Tensors out = floating(inner.f(x, inner.context));
  const Tensors weights(in.begin() + static_cast<std::ptrdiff_t>(inner.inputs), in.end());
  Tensors grads = projected_gradients(out, weights, only_checked(x), {.create_graph = true, .allow_unused = true});
  std::erase_if(grads, [](const Tensor& g) { return !g.defined(); });
  return grads;
}

}  // namespace

std::string gradgradcheck(Function f, const void* context, std::span<const Tensor> inputs, double tolerance) {
  Tensors all(inputs.begin(), inputs.end());
  {
    const NoGrad off;
    std::uint32_t index = 0;
    for (const Tensor& t : floating(f(inputs, context))) all.push_back(weights_like(t, index++));
  }
  const Inner inner{f, context, inputs.size()};
  return gradcheck(gradient_function, &inner, all, tolerance);
}

}  // namespace lockstep
