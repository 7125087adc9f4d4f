// Elementwise arithmetic of floating tensors: binary ops, ops with a scalar, and the unary ops that IEEE fixes.
//
// To add an op: a functor in the vector part and one in the plain part, its row in both tables at the place of its
// enumerator, and a line in kKernels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/loops-inl.h"

#if !HWY_ONCE

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

struct Add {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) { return hn::Add(a, b); }
};
struct Sub {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) { return hn::Sub(a, b); }
};
struct Mul {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) { return hn::Mul(a, b); }
};
struct Div {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) { return hn::Div(a, b); }
};
// Equal values have equal bits except zeros of two signs, where `and` gives +0 and `or` gives -0.
struct Maximum {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) {
    const V larger = hn::IfThenElse(hn::Gt(a, b), a, b);
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger));
  }
};
struct Minimum {
  template <class D, class V>
  static HWY_INLINE V at(D, V a, V b) {
    const V smaller = hn::IfThenElse(hn::Lt(a, b), a, b);
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), smaller));
  }
};
struct Neg {
  template <class D, class V>
  static HWY_INLINE V at(D, V x) { return hn::Neg(x); }
};
struct Abs {
  template <class D, class V>
  static HWY_INLINE V at(D, V x) { return hn::Abs(x); }
};
struct Sign {
  template <class D, class V>
  static HWY_INLINE V at(D d, V x) {
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, hn::TFromD<D>(1));
    return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), x));
  }
};
struct Sqrt {
  template <class D, class V>
  static HWY_INLINE V at(D, V x) { return hn::Sqrt(x); }
};

constexpr Loop kVector[][kFloatTypes] = {
    {&binary_loop<float, Add>, &binary_loop<double, Add>},
    {&binary_loop<float, Sub>, &binary_loop<double, Sub>},
    {&binary_loop<float, Mul>, &binary_loop<double, Mul>},
    {&binary_loop<float, Div>, &binary_loop<double, Div>},
    {&binary_loop<float, Maximum>, &binary_loop<double, Maximum>},
    {&binary_loop<float, Minimum>, &binary_loop<double, Minimum>},
    {&scalar_loop<float, Add>, &scalar_loop<double, Add>},
    {&scalar_loop<float, Mul>, &scalar_loop<double, Mul>},
    {&unary_loop<float, Neg>, &unary_loop<double, Neg>},
    {&unary_loop<float, Abs>, &unary_loop<double, Abs>},
    {&unary_loop<float, Sign>, &unary_loop<double, Sign>},
    {&unary_loop<float, Sqrt>, &unary_loop<double, Sqrt>},
};

}  // namespace
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else  // the plain loops and the table

#include <bit>

#include "kernels/cpu/loops.h"

namespace lockstep {
namespace {

enum Op : int { kAdd, kSub, kMul, kDiv, kMaximum, kMinimum, kAddScalar, kMulScalar, kNeg, kAbs, kSign, kSqrt };

struct Add {
  template <class T>
  static T one(T a, T b) { return a + b; }
};
struct Sub {
  template <class T>
  static T one(T a, T b) { return a - b; }
};
struct Mul {
  template <class T>
  static T one(T a, T b) { return a * b; }
};
struct Div {
  template <class T>
  static T one(T a, T b) { return a / b; }
};
struct Maximum {
  template <class T>
  static T one(T a, T b) {
    if (a != a) return a;
    if (a == 0 && b == 0) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T one(T a, T b) {
    if (a != a) return a;
    if (a == 0 && b == 0) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};
struct Neg {
  template <class T>
  static T one(T x) { return -x; }
};
struct Abs {
  static float one(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU); }
  static double one(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~(1ULL << 63)); }
};
struct Sign {
  template <class T>
  static T one(T x) { return x > 0 ? T{1} : x < 0 ? T{-1} : x; }
};
struct Sqrt {
  static float one(float x) { return __builtin_sqrtf(x); }
  static double one(double x) { return __builtin_sqrt(x); }
};

using scalar::binary_loop;
using scalar::scalar_loop;
using scalar::unary_loop;

constexpr Loop kPlain[][kFloatTypes] = {
    {&binary_loop<float, Add>, &binary_loop<double, Add>},
    {&binary_loop<float, Sub>, &binary_loop<double, Sub>},
    {&binary_loop<float, Mul>, &binary_loop<double, Mul>},
    {&binary_loop<float, Div>, &binary_loop<double, Div>},
    {&binary_loop<float, Maximum>, &binary_loop<double, Maximum>},
    {&binary_loop<float, Minimum>, &binary_loop<double, Minimum>},
    {&scalar_loop<float, Add>, &scalar_loop<double, Add>},
    {&scalar_loop<float, Mul>, &scalar_loop<double, Mul>},
    {&unary_loop<float, Neg>, &unary_loop<double, Neg>},
    {&unary_loop<float, Abs>, &unary_loop<double, Abs>},
    {&unary_loop<float, Sign>, &unary_loop<double, Sign>},
    {&unary_loop<float, Sqrt>, &unary_loop<double, Sqrt>},
};

Loop loop_of(Op op, DType type) {
  const int row = type == DType::f64 ? 1 : 0;
  return pick(kPlain[op][row], N_AVX2::kVector[op][row], N_AVX3::kVector[op][row]);
}

template <Op kOp>
void run_op(const KernelCall& call) {
  map(call, loop_of(kOp, call.in[0].dtype));
}
template <Op kOp>
void run_with_scalar(const KernelCall& call) {
  map(call, loop_of(kOp, call.in[0].dtype), &call.attrs.get<double>(0));
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kernel(std::string_view op, void (*fn)(const KernelCall&)) {
  return {.op = op, .dtypes = kFloats, .fn = fn};
}
constexpr KernelDef kKernels[] = {
    kernel("add", &run_op<kAdd>),
    kernel("sub", &run_op<kSub>),
    kernel("mul", &run_op<kMul>),
    kernel("div", &run_op<kDiv>),
    kernel("maximum", &run_op<kMaximum>),
    kernel("minimum", &run_op<kMinimum>),
    kernel("add_scalar", &run_with_scalar<kAddScalar>),
    kernel("mul_scalar", &run_with_scalar<kMulScalar>),
    kernel("neg", &run_op<kNeg>),
    kernel("abs", &run_op<kAbs>),
    kernel("sign", &run_op<kSign>),
    kernel("sqrt", &run_op<kSqrt>),
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_elementwise = kKernels;

}  // namespace lockstep
#endif  // HWY_ONCE
