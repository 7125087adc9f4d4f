// The scalar elementary functions: each tree, once with the CPU's fused multiply-add and once emulated.
#include "lockstep/base/math.h"

#include "base/trig_reduce.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/math_scalar.h"

namespace lockstep {

namespace {

using math::BuiltinFma;
using math::EmulatedFma;
using math::Scalar32;
using math::Scalar64;

template <class T, class Fma>
using Ops = std::conditional_t<std::is_same_v<T, float>, Scalar32<Fma>, Scalar64<Fma>>;

#if defined(__x86_64__)
template <class Body, class... T>
[[gnu::target("fma")]] auto native(Body body, T... x) {
  using First = std::tuple_element_t<0, std::tuple<T...>>;
  return body(Ops<First, BuiltinFma>(), x...);
}
#else
template <class Body, class... T>
auto native(Body body, T... x) {
  using First = std::tuple_element_t<0, std::tuple<T...>>;
  return body(Ops<First, BuiltinFma>(), x...);
}
#endif

// body(operations, x...) with the operations that this CPU has. A body is always inlined, so its fused
// multiply-adds are compiled for the target of native().
template <class Body, class... T>
auto run(Body body, T... x) {
  using First = std::tuple_element_t<0, std::tuple<T...>>;
  return has_fma() ? native(body, x...) : body(Ops<First, EmulatedFma>(), x...);
}

// sin or cos in f64, whatever the size of x.
double trig64(double x, std::int64_t quadrant) {
  const double size = x < 0 ? -x : x;
  if (!(size > math::kTrigLimit64)) {
    return run([quadrant]<class O>(O, double v) __attribute__((always_inline)) {
      return math::tree::trig64<O>(v, quadrant); }, x);
  }
  if (size > std::numeric_limits<double>::max()) return std::numeric_limits<double>::quiet_NaN();
  const Reduced reduced = reduce_large(x);
  return run([&]<class O>(O, double high) __attribute__((always_inline)) {
    return math::tree::quadrant64<O>(high, reduced.low, reduced.quadrant + quadrant); }, reduced.high);
}
float trig32(float x, std::int32_t quadrant) {
  if (x > math::kTrigLimit32 || x < -math::kTrigLimit32) return static_cast<float>(trig64(double{x}, quadrant));
  return run([quadrant]<class O>(O, float v) __attribute__((always_inline)) {
    return math::tree::trig32<O>(v, quadrant); }, x);
}

}  // namespace

float ls_exp(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::exp32<O>(v); }, x);
}
float ls_expm1(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::expm1_32<O>(v); }, x);
}
float ls_log(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::log32<O>(v); }, x);
}
float ls_log1p(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::log1p32<O>(v); }, x);
}
float ls_tanh(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::tanh32<O>(v); }, x);
}
float ls_sigmoid(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::sigmoid32<O>(v); }, x);
}
float ls_erf(float x) {
  return run([]<class O>(O, float v) __attribute__((always_inline)) { return math::tree::erf32<O>(v); }, x);
}
float ls_sin(float x) { return x == 0 ? x : trig32(x, 0); }
float ls_cos(float x) { return trig32(x, 1); }
float ls_pow(float x, float y) { return static_cast<float>(ls_pow(double{x}, double{y})); }

double ls_exp(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::exp64<O>(v); }, x);
}
double ls_expm1(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::expm1_64<O>(v); }, x);
}
double ls_log(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::log64<O>(v); }, x);
}
double ls_log1p(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::log1p64<O>(v); }, x);
}
double ls_tanh(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::tanh64<O>(v); }, x);
}
double ls_sigmoid(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::sigmoid64<O>(v); }, x);
}
double ls_erf(double x) {
  return run([]<class O>(O, double v) __attribute__((always_inline)) { return math::tree::erf64<O>(v); }, x);
}
double ls_sin(double x) { return x == 0 ? x : trig64(x, 0); }
double ls_cos(double x) { return trig64(x, 1); }
double ls_pow(double x, double y) {
  return run([]<class O>(O, double v, double w) __attribute__((always_inline)) { return math::tree::pow64<O>(v, w); },
             x, y);
}

float fma(float a, float b, float c) {
  return run([]<class O>(O, float x, float y, float z) __attribute__((always_inline)) { return O::fma(x, y, z); }, a,
             b, c);
}
double fma(double a, double b, double c) {
  return run([]<class O>(O, double x, double y, double z) __attribute__((always_inline)) { return O::fma(x, y, z); },
             a, b, c);
}

}  // namespace lockstep
