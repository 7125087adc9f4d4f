// Plain element loops: the scalar variants of the elementwise families. A functor gives one element: `F::one(x)`,
// or `F::one<O>(x)` where it is an expression tree over a set of operations.
#pragma once

#include <type_traits>

#include "kernels/cpu/family.h"
#include "kernels/strided.h"
#include "lockstep/base/math_scalar.h"

namespace lockstep {


namespace scalar {

/// out = F::one(x)
template <class T, class F>
void unary_loop(const Run& run) {
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::one(x[i]);
}

/// out = F::one(a, b)
template <class T, class F>
void binary_loop(const Run& run) {
  const T* a = static_cast<const T*>(run.at[0]);
  const T* b = static_cast<const T*>(run.at[1]);
  T* y = static_cast<T*>(run.at[2]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::one(a[i], b[i]);
}

/// out = F::one(x, s) with s = *params, a double rounded once
template <class T, class F>
void scalar_loop(const Run& run) {
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  const T s = static_cast<T>(*static_cast<const double*>(run.params));
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::one(x[i], s);
}

/// The operations of the expression trees for T, with the FMA that fma_variant chose.
template <class T, class Fma>
using OpsFor = std::conditional_t<
    sizeof(T) == 4,
    math::Scalar32<std::conditional_t<std::is_same_v<Fma, NativeFma>, math::BuiltinFma, math::EmulatedFma>>,
    math::Scalar64<std::conditional_t<std::is_same_v<Fma, NativeFma>, math::BuiltinFma, math::EmulatedFma>>>;

/// out = F::one<O>(x)
template <class T, class F>
struct UnaryTree {
  template <class Fma>
  [[gnu::always_inline]] static void run(const Run& run) {
    const T* x = static_cast<const T*>(run.at[0]);
    T* y = static_cast<T*>(run.at[1]);
    for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::template one<OpsFor<T, Fma>>(x[i]);
  }
};
/// out = F::one<O>(a, b)
template <class T, class F>
struct BinaryTree {
  template <class Fma>
  [[gnu::always_inline]] static void run(const Run& run) {
    const T* a = static_cast<const T*>(run.at[0]);
    const T* b = static_cast<const T*>(run.at[1]);
    T* y = static_cast<T*>(run.at[2]);
    for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::template one<OpsFor<T, Fma>>(a[i], b[i]);
  }
};
/// The plain loop of a tree, for float or double.
template <template <class, class> class Tree, class F>
Loop tree_loop(DType type) {
  constexpr Loop kSignature = nullptr;
  return type == DType::f64 ? fma_variant<Tree<double, F>>(kSignature) : fma_variant<Tree<float, F>>(kSignature);
}

}  // namespace scalar
}  // namespace lockstep
