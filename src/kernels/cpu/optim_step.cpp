// Optimizer updates: one pass over parameter, gradient and slots.
//
// fma(a, b, c) is one rounding, every other operation rounds by itself; hyper-parameters are rounded once to the dtype.
// sgd_step:    d = weight_decay != 0 ? fma(weight_decay, p, g) : g
//              momentum != 0: b = flush(first ? d : fma(momentum, b, (1 - dampening) * d))
//                             d = nesterov ? fma(momentum, b, d) : b
//              p = fma(-lr, d, p)
// adamw_step:  m = flush(fma(1 - beta1, g - m, m))
//              v = flush(fma((1 - beta2) * g, g, beta2 * v))
//              p = fma(-lr / (1 - beta1^t), m / (sqrt(v) * (1 / sqrt(1 - beta2^t)) + eps), p * (1 - lr * weight_decay))
//              with the factors computed in f64; flush turns subnormals into +0 (NUMERICS A12)
// lerp_:       b = (1 - m) * b + m * s: two products, one sum
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optim_step.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/loops-inl.h"
#include "kernels/cpu/params.h"

#if !HWY_ONCE

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

/// The smallest normal number.
HWY_INLINE float smallest(float) { return 0x1p-126F; }
HWY_INLINE double smallest(double) { return 0x1p-1022; }

template <class D, class V>
HWY_INLINE V flush(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), hn::Set(d, smallest(hn::TFromD<D>{}))), x);
}

/// Calls `F::step(d, params, registers...)` for operands in order; loads all of them and stores those that F writes.
template <class T, class F>
void step_loop(const Run& run) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(HWY_MAX_BYTES / sizeof(T));
  const F f(run.params);
  T* at[F::kOperands];
  for (int k = 0; k < F::kOperands; ++k) at[k] = static_cast<T*>(run.at[k]);
  std::int64_t i = 0;
  for (; i + kWidth <= run.n; i += kWidth) {
    V v[F::kOperands];
    for (int k = 0; k < F::kOperands; ++k) v[k] = hn::LoadU(d, at[k] + i);
    f.step(v);
    for (int k = 0; k < F::kOperands; ++k) {
      if (F::writes(k)) hn::StoreU(v[k], d, at[k] + i);
    }
  }
  if (i == run.n) return;
  const auto mask = hn::FirstN(d, static_cast<size_t>(run.n - i));
  V v[F::kOperands];
  for (int k = 0; k < F::kOperands; ++k) v[k] = hn::MaskedLoad(mask, d, at[k] + i);
  f.step(v);
  for (int k = 0; k < F::kOperands; ++k) {
    if (F::writes(k)) hn::BlendedStore(v[k], mask, d, at[k] + i);
  }
}

template <class T>
struct SgdPlain {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kOperands = 2;
  static constexpr bool writes(int k) { return k == 0; }
  V lr, decay;
  bool decays;
  HWY_INLINE explicit SgdPlain(const void* params) {
    const SgdParams& p = *static_cast<const SgdParams*>(params);
    lr = hn::Set(D(), static_cast<T>(p.lr));
    decay = hn::Set(D(), static_cast<T>(p.weight_decay));
    decays = p.weight_decay != 0;
  }
  HWY_INLINE void step(V* v) const {
    const V g = decays ? fma(decay, v[0], v[1]) : v[1];
    v[0] = fma_neg(lr, g, v[0]);
  }
};

template <class T>
struct SgdMomentum {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kOperands = 3;
  static constexpr bool writes(int k) { return k != 1; }
  V lr, decay, momentum, undamped;
  bool decays, nesterov, first;
  HWY_INLINE explicit SgdMomentum(const void* params) {
    const SgdParams& p = *static_cast<const SgdParams*>(params);
    lr = hn::Set(D(), static_cast<T>(p.lr));
    decay = hn::Set(D(), static_cast<T>(p.weight_decay));
    momentum = hn::Set(D(), static_cast<T>(p.momentum));
    undamped = hn::Set(D(), static_cast<T>(p.undamped));
    decays = p.weight_decay != 0;
    nesterov = p.nesterov;
    first = p.first;
  }
  HWY_INLINE void step(V* v) const {
    const V g = decays ? fma(decay, v[0], v[1]) : v[1];
    v[2] = flush(D(), first ? g : fma(momentum, v[2], hn::Mul(undamped, g)));
    v[0] = fma_neg(lr, nesterov ? fma(momentum, v[2], g) : v[2], v[0]);
  }
};

template <class T>
struct Adamw {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kOperands = 4;
  static constexpr bool writes(int k) { return k != 1; }
  V keep, new1, beta2, new2, root_scale, eps, size;
  HWY_INLINE explicit Adamw(const void* params) {
    const AdamwParams& p = *static_cast<const AdamwParams*>(params);
    keep = hn::Set(D(), static_cast<T>(p.keep));
    new1 = hn::Set(D(), static_cast<T>(p.new1));
    beta2 = hn::Set(D(), static_cast<T>(p.beta2));
    new2 = hn::Set(D(), static_cast<T>(p.new2));
    root_scale = hn::Set(D(), static_cast<T>(p.root_scale));
    eps = hn::Set(D(), static_cast<T>(p.eps));
    size = hn::Set(D(), static_cast<T>(p.step));
  }
  HWY_INLINE void step(V* v) const {
    const V g = v[1];
    v[2] = flush(D(), fma(new1, hn::Sub(g, v[2]), v[2]));
    v[3] = flush(D(), fma(hn::Mul(new2, g), g, hn::Mul(beta2, v[3])));
    const V divisor = hn::Add(hn::Mul(hn::Sqrt(v[3]), root_scale), eps);
    v[0] = fma_neg(size, hn::Div(v[2], divisor), hn::Mul(v[0], keep));
  }
};

template <class T>
struct Lerp {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kOperands = 2;
  static constexpr bool writes(int k) { return k == 0; }
  V old, fresh;
  HWY_INLINE explicit Lerp(const void* params) {
    const LerpParams& p = *static_cast<const LerpParams*>(params);
    old = hn::Set(D(), static_cast<T>(p.old));
    fresh = hn::Set(D(), static_cast<T>(p.fresh));
  }
  HWY_INLINE void step(V* v) const { v[0] = hn::Add(hn::Mul(old, v[0]), hn::Mul(fresh, v[1])); }
};

template <class T>
struct Scale {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int kOperands = 1;
  static constexpr bool writes(int) { return true; }
  V s;
  HWY_INLINE explicit Scale(const void* params) { s = hn::Set(D(), static_cast<T>(*static_cast<const double*>(params))); }
  HWY_INLINE void step(V* v) const { v[0] = hn::Mul(v[0], s); }
};

constexpr Loop kVector[][kFloatTypes] = {
    {&step_loop<float, SgdPlain<float>>, &step_loop<double, SgdPlain<double>>},
    {&step_loop<float, SgdMomentum<float>>, &step_loop<double, SgdMomentum<double>>},
    {&step_loop<float, Adamw<float>>, &step_loop<double, Adamw<double>>},
    {&step_loop<float, Lerp<float>>, &step_loop<double, Lerp<double>>},
    {&step_loop<float, Scale<float>>, &step_loop<double, Scale<double>>},
};

}  // namespace
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else  // the plain loops and the table

#include <limits>

#include "kernels/cpu/loops.h"
#include "lockstep/base/math.h"

namespace lockstep {
namespace {

enum Op : int { kSgdPlain, kSgdMomentum, kAdamw, kLerp, kScale };

template <class T>
[[gnu::always_inline]] inline T flush(T x) {
  return x < std::numeric_limits<T>::min() && x > -std::numeric_limits<T>::min() ? T{0} : x;
}

template <class T>
struct SgdLoop {
  template <class Fma>
  [[gnu::always_inline]] static void run(const Run& run) {
    const SgdParams& h = *static_cast<const SgdParams*>(run.params);
    T* p = static_cast<T*>(run.at[0]);
    const T* grad = static_cast<const T*>(run.at[1]);
    T* buffer = static_cast<T*>(run.at[2]);   // null without momentum
    const T lr = static_cast<T>(h.lr);
    const T decay = static_cast<T>(h.weight_decay);
    const T momentum = static_cast<T>(h.momentum);
    const T undamped = static_cast<T>(h.undamped);
    for (std::int64_t i = 0; i < run.n; ++i) {
      T d = h.weight_decay != 0 ? Fma::mul_add(decay, p[i], grad[i]) : grad[i];
      if (buffer != nullptr) {
        const T b = flush(h.first ? d : Fma::mul_add(momentum, buffer[i], undamped * d));
        buffer[i] = b;
        d = h.nesterov ? Fma::mul_add(momentum, b, d) : b;
      }
      p[i] = Fma::mul_add(-lr, d, p[i]);
    }
  }
};

template <class T>
struct AdamwLoop {
  template <class Fma>
  [[gnu::always_inline]] static void run(const Run& run) {
    const AdamwParams& h = *static_cast<const AdamwParams*>(run.params);
    T* p = static_cast<T*>(run.at[0]);
    const T* grad = static_cast<const T*>(run.at[1]);
    T* m = static_cast<T*>(run.at[2]);
    T* v = static_cast<T*>(run.at[3]);
    const T keep = static_cast<T>(h.keep);
    const T new1 = static_cast<T>(h.new1);
    const T beta2 = static_cast<T>(h.beta2);
    const T new2 = static_cast<T>(h.new2);
    const T root_scale = static_cast<T>(h.root_scale);
    const T eps = static_cast<T>(h.eps);
    const T size = static_cast<T>(h.step);
    for (std::int64_t i = 0; i < run.n; ++i) {
      const T g = grad[i];
      m[i] = flush(Fma::mul_add(new1, g - m[i], m[i]));
      v[i] = flush(Fma::mul_add(new2 * g, g, beta2 * v[i]));
      const T root = static_cast<T>(sizeof(T) == 4 ? __builtin_sqrtf(static_cast<float>(v[i])) : __builtin_sqrt(v[i]));
      p[i] = Fma::mul_add(-size, m[i] / (root * root_scale + eps), p[i] * keep);
    }
  }
};

template <class T>
void lerp_plain(const Run& run) {
  const LerpParams& h = *static_cast<const LerpParams*>(run.params);
  T* buffer = static_cast<T*>(run.at[0]);
  const T* statistic = static_cast<const T*>(run.at[1]);
  const T old = static_cast<T>(h.old);
  const T fresh = static_cast<T>(h.fresh);
  for (std::int64_t i = 0; i < run.n; ++i) buffer[i] = old * buffer[i] + fresh * statistic[i];
}

template <class T>
void scale_plain(const Run& run) {
  T* x = static_cast<T*>(run.at[0]);
  const T s = static_cast<T>(*static_cast<const double*>(run.params));
  for (std::int64_t i = 0; i < run.n; ++i) x[i] *= s;
}

/// The loop for the current instruction set and the dtype of the first input.
template <Op kOp>
Loop loop_of(const KernelCall& call, Loop plain32, Loop plain64) {
  const int row = call.in[0].dtype == DType::f64 ? 1 : 0;
  return pick(row == 0 ? plain32 : plain64, N_AVX2::kVector[kOp][row], N_AVX3::kVector[kOp][row]);
}
template <template <class> class Body>
Loop plain_fma(const KernelCall& call) {
  const Loop shape = nullptr;
  return call.in[0].dtype == DType::f64 ? scalar::fma_variant<Body<double>>(shape)
                                        : scalar::fma_variant<Body<float>>(shape);
}

void sgd_step(const KernelCall& call) {
  const Attrs& a = call.attrs;
  const SgdParams h{a.get<double>(0),       a.get<double>(1), 1.0 - a.get<double>(2),
                    a.get<double>(3),       a.get<bool>(4),   a.get<bool>(5)};
  const bool has_buffer = call.in.size() > 2 && call.in[2].data != nullptr;
  const Loop plain = plain_fma<SgdLoop>(call);
  const Loop loop = has_buffer ? loop_of<kSgdMomentum>(call, plain, plain) : loop_of<kSgdPlain>(call, plain, plain);
  update(call, 0b101, loop, &h);
}

void adamw_step(const KernelCall& call) {
  const Attrs& a = call.attrs;
  const double lr = a.get<double>(0);
  const double beta1 = a.get<double>(1);
  const double beta2 = a.get<double>(2);
  const auto t = static_cast<double>(a.get<std::int64_t>(5));
  const AdamwParams h{.keep = 1.0 - lr * a.get<double>(4),
                      .new1 = 1.0 - beta1,
                      .beta2 = beta2,
                      .new2 = 1.0 - beta2,
                      .root_scale = 1.0 / __builtin_sqrt(1.0 - ls_pow(beta2, t)),
                      .eps = a.get<double>(3),
                      .step = lr / (1.0 - ls_pow(beta1, t))};
  const Loop plain = plain_fma<AdamwLoop>(call);
  update(call, 0b1101, loop_of<kAdamw>(call, plain, plain), &h, 2);
}

void lerp(const KernelCall& call) {
  const double m = call.attrs.get<double>(0);
  const LerpParams h{1.0 - m, m};
  update(call, 0b1, loop_of<kLerp>(call, &lerp_plain<float>, &lerp_plain<double>), &h);
}

void scale(const KernelCall& call) {
  update(call, 0b1, loop_of<kScale>(call, &scale_plain<float>, &scale_plain<double>), &call.attrs.get<double>(0));
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kKernels[] = {
    {.op = "sgd_step", .dtypes = kFloats, .fn = &sgd_step},
    {.op = "adamw_step", .dtypes = kFloats, .fn = &adamw_step},
    {.op = "lerp_", .dtypes = kFloats, .fn = &lerp},
    {.op = "scale_", .dtypes = kFloats, .fn = &scale},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_optim_step = kKernels;

}  // namespace lockstep
#endif  // HWY_ONCE
