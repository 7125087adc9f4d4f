// Softmax over the last axis, its logarithm, and cross entropy on logits with its derivative, one row at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/lanes-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/softmax.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
namespace {

template <class V>
HWY_INLINE V exp_of(float, V x) { return exp32<MathOps<float>>(x); }
template <class V>
HWY_INLINE V exp_of(double, V x) { return exp64<MathOps<double>>(x); }
HWY_INLINE float log_of(float x) { return hn::GetLane(log32<MathOps<float>>(hn::Set(hn::ScalableTag<float>(), x))); }
HWY_INLINE double log_of(double x) { return hn::GetLane(log64<MathOps<double>>(hn::Set(hn::ScalableTag<double>(), x))); }

/// f(lanes, i, n) on each group of 16 elements from i on; n of them exist. `x` is loaded, `fill` behind its end.
template <class T, class F>
HWY_INLINE void each_group(const T* x, std::int64_t begin, std::int64_t end, T fill, F f) {
  std::int64_t i = begin;
  for (; i + kSumLanes <= end; i += kSumLanes) f(lanes_load(x + i), i, std::int64_t{kSumLanes});
  if (i < end) f(lanes_load_n(x + i, end - i, fill), i, end - i);
}
/// y[i] = f(x[i]) for n elements; y may be x.
template <class T, class F>
HWY_INLINE void each_value(const T* x, std::int64_t n, T* y, F f) {
  each_group(x, 0, n, T{0}, [&](Lanes<T> v, std::int64_t i, std::int64_t count) HWY_ATTR {
    for (int r = 0; r < Lanes<T>::kRegisters; ++r) v.v[r] = f(v.v[r]);
    count == kSumLanes ? lanes_store(v, y + i) : lanes_store_n(v, y + i, count);
  });
}
/// The A4 sum of f(x[i], i) over a row; f sees whole registers and may store them.
template <class T, class F>
HWY_INLINE T sum_of(const T* x, std::int64_t n, T fill, F f) {
  SumTree<T> tree;
  tree.clear();
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    Lanes<T> sum = lanes_set(T{0});
    each_group(x, begin, n - begin < kSumChunk ? n : begin + kSumChunk, fill,
               [&](const Lanes<T>& v, std::int64_t i, std::int64_t count) HWY_ATTR {
                 const Lanes<T> value = f(v, i, count);
                 lanes_add(sum, count == kSumLanes ? value : lanes_first(value, count));
               });
    tree.push(lanes_fold(sum));
  }
  return tree.total();
}

template <class T>
HWY_INLINE Lanes<T> exp_shifted(const Lanes<T>& v, T shift) {
  Lanes<T> out;
  const auto m = hn::Set(typename Lanes<T>::D(), shift);
  for (int r = 0; r < Lanes<T>::kRegisters; ++r) out.v[r] = exp_of(T{}, hn::Sub(v.v[r], m));
  return out;
}
template <class T>
HWY_INLINE T exp_sum(const T* x, std::int64_t n, T shift) {
  return sum_of(x, n, shift, [&](const Lanes<T>& v, std::int64_t, std::int64_t) HWY_ATTR { return exp_shifted(v, shift); });
}
template <class T>
HWY_INLINE T exp_sum_to(const T* x, std::int64_t n, T shift, T* y) {
  return sum_of(x, n, shift, [&](const Lanes<T>& v, std::int64_t i, std::int64_t count) HWY_ATTR {
    const Lanes<T> e = exp_shifted(v, shift);
    count == kSumLanes ? lanes_store(e, y + i) : lanes_store_n(e, y + i, count);
    return e;
  });
}

template <class T>
HWY_INLINE void softmax_row(const T* x, std::int64_t n, T* y, RowForm form) {
  using V = typename Lanes<T>::V;
  const typename Lanes<T>::D d;
  const T m = run_max(x, n, larger_of(x[0], x[0]));
  if (form == RowForm::softmax) {
    const V sum = hn::Set(d, exp_sum_to(x, n, m, y));
    each_value(y, n, y, [&](V v) HWY_ATTR { return hn::Div(v, sum); });
  } else {
    const V shift = hn::Set(d, m), log_sum = hn::Set(d, log_of(exp_sum(x, n, m)));
    each_value(x, n, y, [&](V v) HWY_ATTR { return hn::Sub(hn::Sub(v, shift), log_sum); });
  }
}

template <class T>
HWY_INLINE T loss_row(const ClassLoss<T>& loss, const T* x, std::int64_t target) {
  using V = typename Lanes<T>::V;
  const typename Lanes<T>::D d;
  const std::int64_t n = loss.classes;
  const T m = run_max(x, n, larger_of(x[0], x[0]));
  const T log_sum = log_of(exp_sum(x, n, m));
  const T hit = -((x[target] - m) - log_sum);
  T out = ((loss.weight == nullptr ? T{1} : loss.weight[target]) * (T{0} + hit)) * loss.keep;
  if (loss.smooth) {
    const V shift = hn::Set(d, m), log_d = hn::Set(d, log_sum);
    const T all = sum_of(x, n, m, [&](const Lanes<T>& v, std::int64_t i, std::int64_t count) HWY_ATTR {
      Lanes<T> nll;
      for (int r = 0; r < Lanes<T>::kRegisters; ++r) nll.v[r] = hn::Neg(hn::Sub(hn::Sub(v.v[r], shift), log_d));
      if (loss.weight == nullptr) return nll;
      const Lanes<T> w = count == kSumLanes ? lanes_load(loss.weight + i) : lanes_load_n(loss.weight + i, count, T{0});
      for (int r = 0; r < Lanes<T>::kRegisters; ++r) nll.v[r] = hn::Mul(nll.v[r], w.v[r]);
      return nll;
    });
    out = out + all * loss.spread;
  }
  return out;
}

template <class T>
HWY_INLINE void loss_backward_row(const ClassLoss<T>& loss, const T* x, std::int64_t target, T g, T* y) {
  using V = typename Lanes<T>::V;
  const typename Lanes<T>::D d;
  const std::int64_t n = loss.classes;
  const T m = run_max(x, n, larger_of(x[0], x[0]));
  const T row_weight = loss.weight == nullptr ? T{1} : loss.weight[target];
  const T exp_total = exp_sum_to(x, n, m, y);
  const T p_hit = y[target] / exp_total;
  const V sum = hn::Set(d, exp_total), w_row = hn::Set(d, row_weight), keep = hn::Set(d, loss.keep), grad = hn::Set(d, g);
  if (!loss.smooth) {
    each_value(y, n, y, [&](V e) HWY_ATTR { return hn::Mul(hn::Mul(hn::Mul(w_row, hn::Div(e, sum)), keep), grad); });
    y[target] = row_weight * (p_hit - T{1}) * loss.keep * g;
    return;
  }
  const V w_sum = hn::Set(d, loss.weight_sum), spread = hn::Set(d, loss.spread), one = hn::Set(d, T{1});
  each_group(y, 0, n, T{0}, [&](const Lanes<T>& e, std::int64_t i, std::int64_t count) HWY_ATTR {
    Lanes<T> w = lanes_set(T{1}), out;
    if (loss.weight != nullptr) w = count == kSumLanes ? lanes_load(loss.weight + i) : lanes_load_n(loss.weight + i, count, T{0});
    for (int r = 0; r < Lanes<T>::kRegisters; ++r) {
      const V p = hn::Div(e.v[r], sum);
      const V at = hn::Iota(d, static_cast<T>(0));
      const V hit = hn::IfThenElseZero(hn::Eq(at, hn::Set(d, static_cast<T>(target - i - r * Lanes<T>::kWidth))), one);
      const V own = hn::Mul(hn::Mul(w_row, hn::Sub(p, hit)), keep);
      out.v[r] = hn::Mul(hn::Add(own, hn::Mul(hn::Sub(hn::Mul(p, w_sum), w.v[r]), spread)), grad);
    }
    count == kSumLanes ? lanes_store(out, y + i) : lanes_store_n(out, y + i, count);
  });
}

}  // namespace

void softmax_row_f32(const float* x, std::int64_t n, float* y, RowForm form) { softmax_row(x, n, y, form); }
void softmax_row_f64(const double* x, std::int64_t n, double* y, RowForm form) { softmax_row(x, n, y, form); }
void loss_row_f32(const ClassLoss<float>& loss, const float* x, std::int64_t target, float* out) {
  *out = loss_row(loss, x, target);
}
void loss_row_f64(const ClassLoss<double>& loss, const double* x, std::int64_t target, double* out) {
  *out = loss_row(loss, x, target);
}
void loss_backward_row_f32(const ClassLoss<float>& loss, const float* x, std::int64_t target, float g, float* y) {
  loss_backward_row(loss, x, target, g, y);
}
void loss_backward_row_f64(const ClassLoss<double>& loss, const double* x, std::int64_t target, double g, double* y) {
  loss_backward_row(loss, x, target, g, y);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/family.h"
#include "kernels/cpu/reduction.h"
#include "lockstep/base/math.h"
#include "lockstep/base/pool.h"

namespace lockstep {
namespace scalar {

template <class T>
T row_max(const T* x, std::int64_t n) {
  T m = larger_of(x[0], x[0]);
  for (std::int64_t i = 1; i < n; ++i) m = larger_of(m, x[i]);
  return m;
}
template <class T>
T exp_sum(const T* x, std::int64_t n, T m) {
  return sum_in_order<T>(n, [&](std::int64_t i) { return ls_exp(x[i] - m); });
}

template <class T>
void softmax_row(const T* x, std::int64_t n, T* y, RowForm form) {
  const T m = row_max(x, n), d = exp_sum(x, n, m);
  if (form == RowForm::softmax) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = ls_exp(x[i] - m) / d;
  } else {
    const T log_d = ls_log(d);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_d;
  }
}
template <class T>
T loss_row(const ClassLoss<T>& loss, const T* x, std::int64_t target) {
  const T m = row_max(x, loss.classes), log_d = ls_log(exp_sum(x, loss.classes, m));
  const auto nll = [&](std::int64_t j) { return -((x[j] - m) - log_d); };
  const auto weight = [&](std::int64_t j) { return loss.weight == nullptr ? T{1} : loss.weight[j]; };
  T out = (weight(target) * (T{0} + nll(target))) * loss.keep;
  if (loss.smooth) {
    out = out + sum_in_order<T>(loss.classes, [&](std::int64_t j) { return nll(j) * weight(j); }) * loss.spread;
  }
  return out;
}
template <class T>
void loss_backward_row(const ClassLoss<T>& loss, const T* x, std::int64_t target, T g, T* y) {
  const T m = row_max(x, loss.classes), d = exp_sum(x, loss.classes, m);
  const auto weight = [&](std::int64_t j) { return loss.weight == nullptr ? T{1} : loss.weight[j]; };
  const T row_weight = weight(target);
  for (std::int64_t j = 0; j < loss.classes; ++j) {
    const T p = ls_exp(x[j] - m) / d;
    T out = (row_weight * (j == target ? p - T{1} : p)) * loss.keep;
    if (loss.smooth) out = out + (p * loss.weight_sum - weight(j)) * loss.spread;
    y[j] = out * g;
  }
}
void softmax_row_f32(const float* x, std::int64_t n, float* y, RowForm form) { softmax_row(x, n, y, form); }
void softmax_row_f64(const double* x, std::int64_t n, double* y, RowForm form) { softmax_row(x, n, y, form); }
void loss_row_f32(const ClassLoss<float>& loss, const float* x, std::int64_t target, float* out) {
  *out = loss_row(loss, x, target);
}
void loss_row_f64(const ClassLoss<double>& loss, const double* x, std::int64_t target, double* out) {
  *out = loss_row(loss, x, target);
}
void loss_backward_row_f32(const ClassLoss<float>& loss, const float* x, std::int64_t target, float g, float* y) {
  loss_backward_row(loss, x, target, g, y);
}
void loss_backward_row_f64(const ClassLoss<double>& loss, const double* x, std::int64_t target, double g, double* y) {
  loss_backward_row(loss, x, target, g, y);
}

}  // namespace scalar

namespace {

constexpr std::int64_t kTask = 16384;   // elements that are worth handing to another thread: exp is dear

/// f(row) for all rows, in groups that are worth a task.
template <class F>
void for_rows(std::int64_t rows, std::int64_t n, F&& f) {
  const std::int64_t each = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, n));
  parallel_for((rows + each - 1) / each, [&](std::int64_t task) {
    for (std::int64_t r = task * each, end = std::min(rows, r + each); r < end; ++r) f(r);
  });
}

/// The row as consecutive elements: where it lies, or copied to `to`.
template <class T>
const T* dense_row(const T* x, std::int64_t n, std::int64_t step, T* to) {
  if (step == 1 || n == 1) return x;
  for (std::int64_t i = 0; i < n; ++i) to[i] = x[i * step];
  return to;
}

template <class T>
void softmax_as(const KernelCall& call, RowForm form, void (*row)(const T*, std::int64_t, T*, RowForm)) {
  const Array& in = call.in[0];
  if (in.numel() == 0) return;
  const std::size_t last = in.shape.rank() - 1;
  const std::int64_t n = in.shape[last];
  Axes rows;
  for (std::size_t i = 0; i < last; ++i) rows.push(in.shape[i], in.strides[i]);
  const T* x = in.as<T>();
  T* y = call.out[0].as<T>();
  for_rows(rows.count(), n, [&](std::int64_t r) {
    row(dense_row(x + rows.offset(r), n, in.strides[last], y + r * n), n, y + r * n, form);
  });
}
void softmax_call(const KernelCall& call, RowForm form) {
  if (call.in[0].dtype == DType::f64) return softmax_as<double>(call, form, pick(LOCKSTEP_ISA(softmax_row_f64)));
  softmax_as<float>(call, form, pick(LOCKSTEP_ISA(softmax_row_f32)));
}
void softmax(const KernelCall& call) { softmax_call(call, RowForm::softmax); }
void log_softmax(const KernelCall& call) { softmax_call(call, RowForm::log); }

/// Attributes and weights of cross_entropy; strided weights are copied to `dense`.
template <class T>
ClassLoss<T> class_loss(const KernelCall& call, std::vector<T>& dense) {
  ClassLoss<T> loss;
  loss.classes = call.in[0].shape[1];
  const auto smoothing = call.attrs.get<double>(0);
  loss.smooth = smoothing > 0;
  loss.keep = static_cast<T>(1 - smoothing);
  loss.spread = static_cast<T>(smoothing / static_cast<double>(std::max<std::int64_t>(1, loss.classes)));
  const Array& weight = call.in[2];
  if (weight.data != nullptr) {
    loss.weight = weight.as<T>();
    if (!weight.contiguous()) {
      for (std::int64_t j = 0; j < loss.classes; ++j) dense.push_back(loss.weight[j * weight.strides[0]]);
      loss.weight = dense.data();
    }
  }
  loss.weight_sum = scalar::sum_in_order<T>(loss.classes, [&](std::int64_t j) { return loss.weight == nullptr ? T{1} : loss.weight[j]; });
  return loss;
}

/// f(row of logits as consecutive elements, target, row) for rows that have a class; special(row, value) for
/// ignored rows (+0) and for rows whose target is no class (NaN).
template <class T, class F, class S>
void for_targets(const KernelCall& call, F&& f, S&& special) {
  const Array &logits = call.in[0], &target = call.in[1];
  const auto ignore = call.attrs.get<std::int64_t>(1);
  const std::int64_t classes = logits.shape[1];
  const bool dense = logits.strides[1] == 1 || classes == 1;
  for_rows(logits.shape[0], classes, [&](std::int64_t r) {
    const std::int64_t t = target.as<std::int64_t>()[r * target.strides[0]];
    if (t == ignore) return special(r, T{0});
    if (t < 0 || t >= classes) return special(r, std::numeric_limits<T>::quiet_NaN());
    std::vector<T> copy(dense ? 0 : static_cast<std::size_t>(classes));
    f(dense_row(logits.as<T>() + r * logits.strides[0], classes, logits.strides[1], copy.data()), t, r);
  });
}

template <class T>
void cross_entropy_as(const KernelCall& call, void (*row)(const ClassLoss<T>&, const T*, std::int64_t, T*)) {
  std::vector<T> dense;
  const ClassLoss<T> loss = class_loss(call, dense);
  T* out = call.out[0].as<T>();
  for_targets<T>(
      call, [&](const T* x, std::int64_t t, std::int64_t r) { row(loss, x, t, out + r); },
      [&](std::int64_t r, T value) { out[r] = value; });
}
void cross_entropy(const KernelCall& call) {
  if (call.in[0].dtype == DType::f64) return cross_entropy_as<double>(call, pick(LOCKSTEP_ISA(loss_row_f64)));
  cross_entropy_as<float>(call, pick(LOCKSTEP_ISA(loss_row_f32)));
}

template <class T>
void cross_entropy_backward_as(const KernelCall& call, void (*row)(const ClassLoss<T>&, const T*, std::int64_t, T, T*)) {
  std::vector<T> dense;
  const ClassLoss<T> loss = class_loss(call, dense);
  const T* g = call.in[3].as<T>();
  const std::int64_t g_step = call.in[3].strides[0], n = loss.classes;
  T* out = call.out[0].as<T>();
  for_targets<T>(
      call, [&](const T* x, std::int64_t t, std::int64_t r) { row(loss, x, t, g[r * g_step], out + r * n); },
      [&](std::int64_t r, T value) { std::fill_n(out + r * n, n, value); });
}
void cross_entropy_backward(const KernelCall& call) {
  if (call.in[0].dtype == DType::f64) return cross_entropy_backward_as<double>(call, pick(LOCKSTEP_ISA(loss_backward_row_f64)));
  cross_entropy_backward_as<float>(call, pick(LOCKSTEP_ISA(loss_backward_row_f32)));
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kKernels[] = {
    {.op = "softmax", .dtypes = kFloats, .fn = &softmax},
    {.op = "log_softmax", .dtypes = kFloats, .fn = &log_softmax},
    {.op = "cross_entropy", .dtypes = kFloats, .fn = &cross_entropy},
    {.op = "cross_entropy_backward", .dtypes = kFloats, .fn = &cross_entropy_backward},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_softmax;
constinit const std::span<const KernelDef> kernels_cpu_softmax = kKernels;

}  // namespace lockstep
#endif
