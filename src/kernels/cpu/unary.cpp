// Elementary functions, elementwise: exp, log, log1p, expm1, erf, sin, cos. The trees are those of base/math_*-inl.h.
//
// To add a function: a functor in the vector part and one in the plain part, its row in kVector at the place of its
// enumerator, its case in plain_loop and a line in kKernels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/unary.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/loops-inl.h"
#include "kernels/cpu/math-inl.h"
#include "lockstep/base/math.h"

#if !HWY_ONCE

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

using D32 = hn::ScalableTag<float>;
using D64 = hn::ScalableTag<double>;
using V32 = hn::Vec<D32>;
using V64 = hn::Vec<D64>;
using O32 = MathOps<float>;
using O64 = MathOps<double>;

struct Exp {
  static HWY_INLINE V32 at(D32, V32 x) { return exp32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return exp64<O64>(x); }
};
struct Log {
  static HWY_INLINE V32 at(D32, V32 x) { return log32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return log64<O64>(x); }
};
struct Log1p {
  static HWY_INLINE V32 at(D32, V32 x) { return log1p32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return log1p64<O64>(x); }
};
struct Expm1 {
  static HWY_INLINE V32 at(D32, V32 x) { return expm1_32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return expm1_64<O64>(x); }
};
struct Erf {
  static HWY_INLINE V32 at(D32, V32 x) { return erf32<O32>(x); }
  static HWY_INLINE V64 at(D64, V64 x) { return erf64<O64>(x); }
};

/// Elements beyond `limit`, where the tree does not hold, one by one; NaN too.
template <class D, class V, class T>
HWY_INLINE V beyond(D d, V x, V y, T limit, T (*exact)(T)) {
  const auto inside = hn::Le(hn::Abs(x), hn::Set(d, limit));
  if (HWY_LIKELY(hn::AllTrue(d, inside))) return y;
  constexpr int kWidth = static_cast<int>(HWY_MAX_BYTES / sizeof(T));
  alignas(64) T from[kWidth];
  alignas(64) T to[kWidth];
  hn::Store(x, d, from);
  for (int i = 0; i < kWidth; ++i) to[i] = exact(from[i]);
  return hn::IfThenElse(inside, y, hn::Load(d, to));
}
struct Sin {
  static HWY_INLINE V32 at(D32 d, V32 x) { return beyond<D32, V32, float>(d, x, sin32<O32>(x), math::kTrigLimit32, &ls_sin); }
  static HWY_INLINE V64 at(D64 d, V64 x) { return beyond<D64, V64, double>(d, x, sin64<O64>(x), math::kTrigLimit64, &ls_sin); }
};
struct Cos {
  static HWY_INLINE V32 at(D32 d, V32 x) { return beyond<D32, V32, float>(d, x, cos32<O32>(x), math::kTrigLimit32, &ls_cos); }
  static HWY_INLINE V64 at(D64 d, V64 x) { return beyond<D64, V64, double>(d, x, cos64<O64>(x), math::kTrigLimit64, &ls_cos); }
};

constexpr Loop kVector[][kFloatTypes] = {
    {&unary_loop<float, Exp>, &unary_loop<double, Exp>},
    {&unary_loop<float, Log>, &unary_loop<double, Log>},
    {&unary_loop<float, Log1p>, &unary_loop<double, Log1p>},
    {&unary_loop<float, Expm1>, &unary_loop<double, Expm1>},
    {&unary_loop<float, Erf>, &unary_loop<double, Erf>},
    {&unary_loop<float, Sin>, &unary_loop<double, Sin>},
    {&unary_loop<float, Cos>, &unary_loop<double, Cos>},
};

}  // namespace
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else  // the plain loops and the table

#include "kernels/cpu/loops.h"

namespace lockstep {
namespace {

enum Op : int { kExp, kLog, kLog1p, kExpm1, kErf, kSin, kCos };

struct Exp {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::exp32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::exp64<O>(x); }
};
struct Log {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::log32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::log64<O>(x); }
};
struct Log1p {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::log1p32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::log1p64<O>(x); }
};
struct Expm1 {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::expm1_32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::expm1_64<O>(x); }
};
struct Erf {
  template <class O>
  [[gnu::always_inline]] static float one(float x) { return math::tree::erf32<O>(x); }
  template <class O>
  [[gnu::always_inline]] static double one(double x) { return math::tree::erf64<O>(x); }
};
struct Sin {
  static float one(float x) { return ls_sin(x); }
  static double one(double x) { return ls_sin(x); }
};
struct Cos {
  static float one(float x) { return ls_cos(x); }
  static double one(double x) { return ls_cos(x); }
};

template <class F>
Loop called(DType type) {
  return type == DType::f64 ? &scalar::unary_loop<double, F> : &scalar::unary_loop<float, F>;
}
Loop plain_loop(Op op, DType type) {
  switch (op) {
    case kExp: return scalar::tree_loop<scalar::UnaryTree, Exp>(type);
    case kLog: return scalar::tree_loop<scalar::UnaryTree, Log>(type);
    case kLog1p: return scalar::tree_loop<scalar::UnaryTree, Log1p>(type);
    case kExpm1: return scalar::tree_loop<scalar::UnaryTree, Expm1>(type);
    case kErf: return scalar::tree_loop<scalar::UnaryTree, Erf>(type);
    case kSin: return called<Sin>(type);
    case kCos: break;
  }
  return called<Cos>(type);
}

constexpr std::int64_t kCost = 4;   // of one function, in plain adds

template <Op kOp>
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
    kernel("exp", &run_op<kExp>),     kernel("log", &run_op<kLog>), kernel("log1p", &run_op<kLog1p>),
    kernel("expm1", &run_op<kExpm1>), kernel("erf", &run_op<kErf>), kernel("sin", &run_op<kSin>),
    kernel("cos", &run_op<kCos>),
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_unary = kKernels;

}  // namespace lockstep
#endif  // HWY_ONCE
