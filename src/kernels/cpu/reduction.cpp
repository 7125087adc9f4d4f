// Reductions in the order of A4: sum, total, sum_squares, amax; argmax.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduction.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/lanes-inl.h"
#include "kernels/cpu/reduction.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

void sum_run_f32(const float* x, std::int64_t n, float* out) { *out = run_sum(x, n); }
void sum_run_f64(const double* x, std::int64_t n, double* out) { *out = run_sum(x, n); }

/// Sixteen elements as doubles, squared by a plain product or as they are.
template <bool kSquare>
HWY_INLINE Lanes<double> widened(const float* HWY_RESTRICT x) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr int kWidth = Lanes<double>::kWidth;
  Lanes<double> out;
  for (int r = 0; r < Lanes<double>::kRegisters; ++r) {
    const auto v = hn::PromoteTo(d, hn::LoadU(narrow, x + r * kWidth));
    out.v[r] = kSquare ? hn::Mul(v, v) : v;
  }
  return out;
}
template <bool kSquare>
HWY_INLINE Lanes<double> widened(const double* HWY_RESTRICT x) {
  Lanes<double> out = lanes_load(x);
  if (kSquare) {
    for (int r = 0; r < Lanes<double>::kRegisters; ++r) out.v[r] = hn::Mul(out.v[r], out.v[r]);
  }
  return out;
}

/// A run of floats or doubles in the order of A4, each widened (and squared) before it is added to its lane.
template <bool kSquare, class T>
HWY_INLINE void total_run(const T* HWY_RESTRICT x, std::int64_t n, double* out) {
  SumTree<double> tree;
  tree.clear();
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t end = n - begin < kSumChunk ? n : begin + kSumChunk;
    Lanes<double> sum = lanes_set(0.0);
    std::int64_t i = begin;
    for (; i + kSumLanes <= end; i += kSumLanes) lanes_add(sum, widened<kSquare>(x + i));
    if (i < end) {
      alignas(64) T rest[kSumLanes];
      for (int l = 0; l < kSumLanes; ++l) rest[l] = i + l < end ? x[i + l] : T{0};
      lanes_add(sum, widened<kSquare>(rest));
    }
    tree.push(lanes_fold(sum));
  }
  *out = tree.total();
}
void total_run_f32(const float* x, std::int64_t n, double* out) { total_run<false>(x, n, out); }
void squares_run_f32(const float* x, std::int64_t n, double* out) { total_run<true>(x, n, out); }
void squares_run_f64(const double* x, std::int64_t n, double* out) { total_run<true>(x, n, out); }

/// to[c] = a[c] + b[c]
template <class T>
HWY_INLINE void add_rows(const T* a, const T* b, T* to, std::int64_t columns) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = Lanes<T>::kWidth;
  std::int64_t c = 0;
  for (; c + kWidth <= columns; c += kWidth) hn::StoreU(hn::Add(hn::LoadU(d, a + c), hn::LoadU(d, b + c)), d, to + c);
  for (; c < columns; ++c) to[c] = a[c] + b[c];
}
/// Every column's own lanes, chunks and tree, side by side; rows are read once, in order.
template <class T>
HWY_INLINE void sum_columns(const T* HWY_RESTRICT x, std::int64_t n, std::int64_t step, std::int64_t columns,
                            T* HWY_RESTRICT out) {
  alignas(64) T lane[kSumLanes][kColumnBlock];
  alignas(64) T part[kColumnLevels][kColumnBlock];
  std::uint64_t chunks = 0;
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk, ++chunks) {
    const std::int64_t rows = n - begin < kSumChunk ? n - begin : kSumChunk;
    for (int l = 0; l < kSumLanes; ++l) {
      for (std::int64_t c = 0; c < columns; ++c) lane[l][c] = T{0};
    }
    for (std::int64_t i = 0; i < rows; ++i) add_rows(lane[i % kSumLanes], x + (begin + i) * step, lane[i % kSumLanes], columns);
    for (int half = kSumLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) add_rows(lane[l], lane[l + half], lane[l], columns);
    }
    int level = 0;
    for (; ((chunks >> level) & 1U) != 0; ++level) add_rows(part[level], lane[0], lane[0], columns);
    for (std::int64_t c = 0; c < columns; ++c) part[level][c] = lane[0][c];
  }
  int level = 0;
  while (((chunks >> level) & 1U) == 0) ++level;
  for (std::int64_t c = 0; c < columns; ++c) out[c] = part[level][c];
  for (++level; (chunks >> level) != 0; ++level) {
    if (((chunks >> level) & 1U) != 0) add_rows(part[level], out, out, columns);
  }
}
void sum_columns_f32(const float* x, std::int64_t n, std::int64_t step, std::int64_t columns, float* out) {
  sum_columns(x, n, step, columns, out);
}
void sum_columns_f64(const double* x, std::int64_t n, std::int64_t step, std::int64_t columns, double* out) {
  sum_columns(x, n, step, columns, out);
}

void max_run_f32(const float* x, std::int64_t n, float* out) { *out = run_max(x, n, *out); }
void max_run_f64(const double* x, std::int64_t n, double* out) { *out = run_max(x, n, *out); }

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else

#include <algorithm>

#include "kernels/cpu/family.h"
#include "lockstep/base/pool.h"

namespace lockstep {
namespace scalar {

template <class T, class R>
void sum_run(const T* x, std::int64_t n, R* out) {
  *out = sum_in_order<R>(n, [x](std::int64_t i) { return static_cast<R>(x[i]); });
}
void sum_run_f32(const float* x, std::int64_t n, float* out) { sum_run(x, n, out); }
void sum_run_f64(const double* x, std::int64_t n, double* out) { sum_run(x, n, out); }
void total_run_f32(const float* x, std::int64_t n, double* out) { sum_run(x, n, out); }

template <class T>
void squares_run(const T* x, std::int64_t n, double* out) {
  *out = sum_in_order<double>(n, [x](std::int64_t i) {
    const auto v = static_cast<double>(x[i]);
    return v * v;
  });
}
void squares_run_f32(const float* x, std::int64_t n, double* out) { squares_run(x, n, out); }
void squares_run_f64(const double* x, std::int64_t n, double* out) { squares_run(x, n, out); }

template <class T>
void sum_columns(const T* x, std::int64_t n, std::int64_t step, std::int64_t columns, T* out) {
  for (std::int64_t c = 0; c < columns; ++c) {
    out[c] = sum_in_order<T>(n, [x, step, c](std::int64_t i) { return x[i * step + c]; });
  }
}
void sum_columns_f32(const float* x, std::int64_t n, std::int64_t step, std::int64_t columns, float* out) {
  sum_columns(x, n, step, columns, out);
}
void sum_columns_f64(const double* x, std::int64_t n, std::int64_t step, std::int64_t columns, double* out) {
  sum_columns(x, n, step, columns, out);
}

template <class T>
void max_run(const T* x, std::int64_t n, T* out) {
  for (std::int64_t i = 0; i < n; ++i) *out = larger_of(*out, x[i]);
}
void max_run_f32(const float* x, std::int64_t n, float* out) { max_run(x, n, out); }
void max_run_f64(const double* x, std::int64_t n, double* out) { max_run(x, n, out); }

}  // namespace scalar

namespace {

constexpr std::int64_t kTask = 65536;   // elements that are worth handing to another thread

template <class T, class R>
using RunFn = void (*)(const T*, std::int64_t, R*);

/// A sum of a long contiguous run: threads take aligned power-of-two groups of chunks, which are subtrees of A4.
template <class T, class R>
R sum_long(RunFn<T, R> run, const T* x, std::int64_t n) {
  R out{0};
  if (n <= kTask) {
    run(x, n, &out);
    return out;
  }
  std::int64_t group = kTask / 4;
  while (n / group >= 256) group *= 2;
  R part[257];
  const std::int64_t groups = (n + group - 1) / group;
  parallel_for(groups, [&](std::int64_t g) { run(x + g * group, std::min(group, n - g * group), &part[g]); });
  SumTree<R> tree;
  tree.clear();
  for (std::int64_t g = 0; g < groups; ++g) tree.push(part[g]);
  return tree.total();
}

/// Elements [begin, begin + count) of the row-major walk over `axes`, copied side by side.
template <class T>
void gather(const T* x, const Axes& axes, std::int64_t begin, std::int64_t count, T* to) {
  const std::int64_t inner = axes.n == 0 ? 1 : axes.size[axes.n - 1], step = axes.n == 0 ? 0 : axes.stride[axes.n - 1];
  std::int64_t done = 0;
  while (done < count) {
    const std::int64_t at = begin + done, first = at % inner, length = std::min(inner - first, count - done);
    const T* from = x + axes.offset(at);
    for (std::int64_t i = 0; i < length; ++i) to[done + i] = from[i * step];
    done += length;
  }
}

/// One output: direct when its elements are contiguous, else chunk by chunk through a buffer.
template <class T, class R>
R sum_one(RunFn<T, R> run, const T* x, const Axes& reduced) {
  const std::int64_t n = reduced.count();
  if (reduced.contiguous()) return sum_long(run, x, n);
  T buffer[kSumChunk];
  SumTree<R> tree;
  tree.clear();
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    const std::int64_t count = std::min(kSumChunk, n - begin);
    gather(x, reduced, begin, count, buffer);
    R part;
    run(buffer, count, &part);
    tree.push(part);
  }
  return tree.total();
}

/// f(first output, last output) on groups of outputs that are worth a task.
template <class F>
void for_outputs(std::int64_t outputs, std::int64_t n, F&& f) {
  const std::int64_t each = std::max<std::int64_t>(1, kTask / std::max<std::int64_t>(1, n));
  parallel_for((outputs + each - 1) / each, [&](std::int64_t task) { f(task * each, std::min(outputs, (task + 1) * each)); });
}

template <class T>
void sum_as(const KernelCall& call, RunFn<T, T> run, void (*columns)(const T*, std::int64_t, std::int64_t, std::int64_t, T*)) {
  Axes kept, reduced;
  split_axes(call.in[0], call.attrs.get<Shape>(0), kept, reduced);
  const T* x = call.in[0].as<T>();
  T* out = call.out[0].as<T>();
  const std::int64_t outputs = kept.count(), n = reduced.count();
  if (outputs == 0) return;
  if (n == 0) return static_cast<void>(std::fill_n(out, outputs, T{0}));
  const std::int64_t across = kept.n == 0 ? 1 : kept.size[kept.n - 1];
  if (columns != nullptr && reduced.n == 1 && kept.n > 0 && kept.stride[kept.n - 1] == 1 && across >= 4 && !reduced.contiguous()) {
    const std::int64_t blocks = (across + kColumnBlock - 1) / kColumnBlock;
    for_outputs(outputs / across * blocks, n * std::min<std::int64_t>(across, kColumnBlock), [&](std::int64_t b, std::int64_t end) {
      for (; b < end; ++b) {
        const std::int64_t first = b / blocks * across + b % blocks * kColumnBlock;
        const std::int64_t width = std::min<std::int64_t>(kColumnBlock, across - b % blocks * kColumnBlock);
        columns(x + kept.offset(first), n, reduced.stride[0], width, out + first);
      }
    });
    return;
  }
  if (outputs == 1) return static_cast<void>(*out = sum_one(run, x, reduced));
  for_outputs(outputs, n, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) out[i] = sum_one(run, x + kept.offset(i), reduced);
  });
}

/// Integers are exact (modulo 2^64) in any order.
void sum_i64(const KernelCall& call) {
  Axes kept, reduced;
  split_axes(call.in[0], call.attrs.get<Shape>(0), kept, reduced);
  const auto* x = call.in[0].as<std::int64_t>();
  auto* out = call.out[0].as<std::int64_t>();
  for (std::int64_t i = 0, outputs = kept.count(); i < outputs; ++i) {
    std::uint64_t sum = 0;
    for (std::int64_t j = 0, n = reduced.count(); j < n; ++j) {
      sum += static_cast<std::uint64_t>(x[kept.offset(i) + reduced.offset(j)]);
    }
    out[i] = static_cast<std::int64_t>(sum);
  }
}

void sum(const KernelCall& call) {
  if (call.in[0].dtype == DType::i64) return sum_i64(call);
  if (call.in[0].dtype == DType::f64) return sum_as<double>(call, pick(LOCKSTEP_ISA(sum_run_f64)), pick(LOCKSTEP_ISA(sum_columns_f64)));
  sum_as<float>(call, pick(LOCKSTEP_ISA(sum_run_f32)), pick(LOCKSTEP_ISA(sum_columns_f32)));
}

template <class T>
double total_as(const Array& x, RunFn<T, double> run) {
  Axes all;
  for (std::size_t i = 0; i < x.shape.rank(); ++i) all.push(x.shape[i], x.strides[i]);
  return all.count() == 0 ? 0.0 : sum_one(run, x.as<T>(), all);
}
void total(const KernelCall& call) {
  const Array& x = call.in[0];
  *call.out[0].as<double>() = x.dtype == DType::f64 ? total_as<double>(x, pick(LOCKSTEP_ISA(sum_run_f64)))
                                                    : total_as<float>(x, pick(LOCKSTEP_ISA(total_run_f32)));
}
void sum_squares(const KernelCall& call) {
  const Array& x = call.in[0];
  *call.out[0].as<double>() = x.dtype == DType::f64 ? total_as<double>(x, pick(LOCKSTEP_ISA(squares_run_f64)))
                                                    : total_as<float>(x, pick(LOCKSTEP_ISA(squares_run_f32)));
}

template <class T>
void amax_as(const KernelCall& call, RunFn<T, T> run) {
  Axes kept, reduced;
  split_axes(call.in[0], call.attrs.get<Shape>(0), kept, reduced);
  const T* x = call.in[0].as<T>();
  T* out = call.out[0].as<T>();
  const std::int64_t n = reduced.count();
  for_outputs(kept.count(), n, [&](std::int64_t i, std::int64_t end) {
    T buffer[kSumChunk];
    for (; i < end; ++i) {
      const T* from = x + kept.offset(i);
      T best = larger_of(*from, *from);
      for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
        const std::int64_t count = std::min(kSumChunk, n - begin);
        if (!reduced.contiguous()) gather(from, reduced, begin, count, buffer);
        run(reduced.contiguous() ? from + begin : buffer, count, &best);
      }
      out[i] = best;
    }
  });
}
void amax(const KernelCall& call) {
  if (call.in[0].dtype == DType::f64) return amax_as<double>(call, pick(LOCKSTEP_ISA(max_run_f64)));
  amax_as<float>(call, pick(LOCKSTEP_ISA(max_run_f32)));
}

/// The lowest index of the largest element; the first NaN counts as largest. Nothing is rounded: one plain loop.
template <class T>
void argmax_as(const KernelCall& call) {
  const auto axis = static_cast<std::size_t>(call.attrs.get<std::int64_t>(0));
  Axes kept, reduced;
  split_axes(call.in[0], Shape{static_cast<std::int64_t>(axis)}, kept, reduced);
  const T* x = call.in[0].as<T>();
  auto* out = call.out[0].as<std::int64_t>();
  const std::int64_t n = call.in[0].shape[axis], step = call.in[0].strides[axis];
  for_outputs(kept.count(), n, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) {
      const T* from = x + kept.offset(i);
      std::int64_t at = 0;
      for (std::int64_t j = 1; j < n && from[at * step] == from[at * step]; ++j) {
        if (!(from[j * step] <= from[at * step])) at = j;
      }
      out[i] = at;
    }
  });
}
void argmax(const KernelCall& call) { call.in[0].dtype == DType::f64 ? argmax_as<double>(call) : argmax_as<float>(call); }

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr DType kSummed[] = {DType::f32, DType::f64, DType::i64};
constexpr KernelDef kKernels[] = {
    {.op = "sum", .dtypes = kSummed, .fn = &sum},
    {.op = "amax", .dtypes = kFloats, .fn = &amax},
    {.op = "argmax", .dtypes = kFloats, .fn = &argmax},
    {.op = "total", .dtypes = kFloats, .fn = &total},
    {.op = "sum_squares", .dtypes = kFloats, .fn = &sum_squares},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_reduction;
constinit const std::span<const KernelDef> kernels_cpu_reduction = kKernels;

}  // namespace lockstep
#endif
