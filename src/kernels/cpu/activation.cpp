// Activations and the derivatives that have their own kernel. Their expression trees: base/math_*-inl.h, gelu-inl.h.
//
// relu: x > 0 ? x : +0, NaN stays. relu_backward: x > 0 or NaN ? g : +0. gelu: x Phi(x), exact form.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/loops-inl.h"
#include "kernels/cpu/math-inl.h"

#if !HWY_ONCE

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

#include "kernels/cpu/gelu-inl.h"

using D32 = hn::ScalableTag<float>;
using D64 = hn::ScalableTag<double>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;
using O32 = MathOps<float>;
using O64 = MathOps<double>;

struct Relu {
  template <class D, class V>
  static HWY_INLINE V at(D d, V x) { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x); }
};
struct ReluBackward {
  template <class D, class V>
  static HWY_INLINE V at(D d, V g, V x) { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), g); }
};
struct Tanh {
  static HWY_INLINE V32 at(D32, V32 x) { return tanh32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return tanh64<O64>(x); }
};
struct Sigmoid {
  static HWY_INLINE V32 at(D32, V32 x) { return sigmoid32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return sigmoid64<O64>(x); }
};
struct Gelu {
  static HWY_INLINE V32 at(D32, V32 x) { return gelu32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return gelu64<O64>(x); }
};
struct GeluBackward {
  static HWY_INLINE V32 at(D32, V32 g, V32 x) { return g * gelu_slope32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 g, V64 x) { return g * gelu_slope64<O64>(x); }
};

constexpr Loop kVector[][kFloatTypes] = {
    {&unary_loop<float, Relu>, &unary_loop<double, Relu>},
    {&unary_loop<float, Tanh>, &unary_loop<double, Tanh>},
    {&unary_loop<float, Sigmoid>, &unary_loop<double, Sigmoid>},
    {&unary_loop<float, Gelu>, &unary_loop<double, Gelu>},
    {&binary_loop<float, ReluBackward>, &binary_loop<double, ReluBackward>},
    {&binary_loop<float, GeluBackward>, &binary_loop<double, GeluBackward>},
};

}  // namespace
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else  // the plain loops and the table

#include "kernels/cpu/loops.h"

namespace lockstep {
namespace {

enum Op : int { kRelu, kTanh, kSigmoid, kGelu, kReluBackward, kGeluBackward };

namespace tree {
using namespace math::tree;
#include "kernels/cpu/gelu-inl.h"
}  // namespace tree

struct Relu {
  template <class T>
  static T one(T x) { return x <= 0 ? T{0} : x; }
};
struct ReluBackward {
  template <class T>
  static T one(T g, T x) { return x <= 0 ? T{0} : g; }
};
struct Tanh {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::tanh32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::tanh64<O>(x); }
};
struct Sigmoid {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::sigmoid32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::sigmoid64<O>(x); }
};
struct Gelu {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return tree::gelu32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return tree::gelu64<O>(x); }
};
struct GeluBackward {
  template <class O>
  [[gnu::always_inline]] static float one(float g, float x) { return g * tree::gelu_slope32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double g, double x) { return g * tree::gelu_slope64<O>(x); }
};

Loop plain_loop(Op op, DType type) {
  const bool wide = type == DType::f64;
  switch (op) {
    case kRelu: return wide ? &scalar::unary_loop<double, Relu> : &scalar::unary_loop<float, Relu>;
    case kTanh: return scalar::tree_loop<scalar::UnaryTree, Tanh>(type);
    case kSigmoid: return scalar::tree_loop<scalar::UnaryTree, Sigmoid>(type);
    case kGelu: return scalar::tree_loop<scalar::UnaryTree, Gelu>(type);
    case kReluBackward:
      return wide ? &scalar::binary_loop<double, ReluBackward> : &scalar::binary_loop<float, ReluBackward>;
    case kGeluBackward: break;
  }
  return scalar::tree_loop<scalar::BinaryTree, GeluBackward>(type);
}

/// `kCost`: the time of an element in plain adds.
template <Op kOp, int kCost>
void run_op(const KernelCall& call) {
  const DType type = call.in[0].dtype;
  const int row = type == DType::f64 ? 1 : 0;
  map(call, pick(plain_loop(kOp, type), N_AVX2::kVector[kOp][row], N_AVX3::kVector[kOp][row]), nullptr, kCost);
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kernel(std::string_view op, void (*fn)(const KernelCall&)) {
  return {.op = op, .dtypes = kFloats, .fn = fn};
}
constexpr KernelDef kKernels[] = {
    kernel("relu", &run_op<kRelu, 1>),
    kernel("tanh", &run_op<kTanh, 4>),
    kernel("sigmoid", &run_op<kSigmoid, 4>),
    kernel("gelu", &run_op<kGelu, 4>),
    kernel("relu_backward", &run_op<kReluBackward, 1>),
    kernel("gelu_backward", &run_op<kGeluBackward, 6>),
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_activation = kKernels;

}  // namespace lockstep
#endif  // HWY_ONCE
