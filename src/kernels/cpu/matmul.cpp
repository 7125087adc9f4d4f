// Matrix products in the order of A3: matmul and linear.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "kernels/cpu/family.h"
#include "kernels/cpu/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/matmul.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/gemv-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

void gemm_f32(const Gemm<float>& g, std::int64_t m0, std::int64_t m1, std::int64_t n0, std::int64_t n1, float* scratch) {
  gemm_block(g, m0, m1, n0, n1, scratch);
}
void gemm_f64(const Gemm<double>& g, std::int64_t m0, std::int64_t m1, std::int64_t n0, std::int64_t n1, double* scratch) {
  gemm_block(g, m0, m1, n0, n1, scratch);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else

#include "lockstep/base/pool.h"

namespace lockstep {
namespace scalar {

template <class T>
struct GemmLoop {
  template <class Fma>
  [[gnu::always_inline]] static void run(const Gemm<T>& g, std::int64_t m0, std::int64_t m1, std::int64_t n0,
                                         std::int64_t n1, T*) {
    const std::int64_t chunk = chunk_length(g.k);
    for (std::int64_t i = m0; i < m1; ++i) {
      for (std::int64_t j = n0; j < n1; ++j) {
        T sum{0};
        for (std::int64_t k0 = 0; k0 < g.k; k0 += chunk) {
          const std::int64_t k1 = g.k - k0 < chunk ? g.k : k0 + chunk;
          T chain{0};
          for (std::int64_t k = k0; k < k1; ++k) {
            chain = Fma::mul_add(g.a[i * g.a_row + k * g.a_col], g.b[k * g.b_row + j * g.b_col], chain);
          }
          sum += chain;
        }
        if (g.bias != nullptr) sum += g.bias[g.bias_by_row ? i : j];
        g.c[i * g.c_row + j * g.c_col] = sum;
      }
    }
  }
};
using gemm_f32 = GemmLoop<float>;
using gemm_f64 = GemmLoop<double>;

}  // namespace scalar

namespace {

constexpr double kInlineFlops = 2e6;   // below this a product is not worth handing to other threads

/// This thread's scratch for packed panels; kept for the life of the thread, so a step allocates nothing.
template <class T>
T* scratch() {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static thread_local std::unique_ptr<void, Free> block;
  if (block == nullptr) {
    block.reset(std::aligned_alloc(64, static_cast<std::size_t>(kGemmScratch) * sizeof(T)));
    if (block == nullptr) throw std::bad_alloc();
  }
  return static_cast<T*>(block.get());
}

/// The same product as C^T = B^T A^T: the factors of every multiplication change places, so the bits do not change.
template <class T>
Gemm<T> swapped(const Gemm<T>& g) {
  Gemm<T> s = g;
  std::swap(s.a, s.b);
  std::swap(s.m, s.n);
  s.a_row = g.b_col;
  s.a_col = g.b_row;
  s.b_row = g.a_col;
  s.b_col = g.a_row;
  std::swap(s.c_row, s.c_col);
  s.bias_by_row = !g.bias_by_row;
  return s;
}

/// About how many cycles the product takes as it stands: tiles with their padding, packing of B, edges of C.
template <class T>
double cost(const Gemm<T>& g) {
  const auto up = [](std::int64_t x, std::int64_t unit) { return static_cast<double>((x + unit - 1) / unit * unit); };
  const double k = static_cast<double>(g.k), m = static_cast<double>(g.m), n = static_cast<double>(g.n);
  const std::int64_t tiles = (g.m + 5) / 6;
  const double chains = std::max(m, 4.0 * static_cast<double>(tiles));   // fewer rows cannot hide the latency
  double cycles = chains * up(g.n, 16) * k / 16;
  if (g.b_col != 1) cycles += 0.4 * up(g.n, 16) * k;
  if (g.c_col != 1) cycles += 1.5 * m * n * static_cast<double>((g.k + 639) / 640);
  return cycles;
}

/// Decides orientation, packing and blocks from shapes, strides and the number of threads. The thresholds were measured;
/// no bit depends on them. B is turned or copied into panels where its columns are not contiguous or its rows are read
/// often; A where each k would touch another line of memory (the transposed factor of weight gradients).
template <class T>
Gemm<T> planned(Gemm<T> g) {
  const Gemm<T> other = swapped(g);
  if (cost(other) < cost(g)) g = other;
  g.pack_b = g.b_col != 1 || (g.m > 96 && g.n > 16);
  g.pack_a = (g.a_col != 1 && g.a_row != 1) || (g.a_col != 1 && g.n >= 256 && g.k >= 96);
  g.n_block = std::min(kMaxColumnBlock, (g.n + 31) / 32 * 32);
  g.m_block = g.m;
  const double flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
  // Tasks: one for one thread, else two from 4 MFLOP on, eight from 48. Columns are split first, since rows that are
  // split pack B again; not as far where A is packed for each block of columns.
  const auto wanted = flops < 2 * kInlineFlops || pool().threads() == 1
                          ? 1
                          : static_cast<std::int64_t>(std::clamp(flops / (3 * kInlineFlops), 2.0, 8.0));
  const auto split = [&](std::int64_t columns, std::int64_t rows) {
    while (g.n_tasks() * g.m_tasks() < wanted && g.n_block > columns) g.n_block = (g.n_block / 2 + 31) / 32 * 32;
    while (g.n_tasks() * g.m_tasks() < wanted && g.m_block > rows) g.m_block = (g.m_block / 2 + 11) / 12 * 12;
  };
  split(g.pack_a ? 256 : 128, 96);
  split(32, 24);
  return g;
}

/// One row by contiguous columns (or one column, which is turned into that), as far as whole registers of outputs
/// reach. Returns how many outputs that were.
std::int64_t multiply_row(Gemm<float>& g) {
  constexpr std::int64_t kColumns = 16, kTask = std::int64_t{1} << 17;   // multiplications that pay for a task
  if (g.n == 1 && g.m != 1) g = swapped(g);
  const auto run = pick<void (*)(const Gemm<float>&, std::int64_t, std::int64_t)>(nullptr, &N_AVX2::gemv_f32, &N_AVX3::gemv_f32);
  if (run == nullptr || g.m != 1 || g.b_row != 1) return 0;
  const std::int64_t done = g.n / kColumns * kColumns;
  const std::int64_t each = std::max(kColumns, kTask / g.k / kColumns * kColumns);
  parallel_for((done + each - 1) / each, [&](std::int64_t task) { run(g, task * each, std::min(done, (task + 1) * each)); });
  return done;
}

template <class T>
void multiply(Gemm<T> product) {
  if (product.m == 0 || product.n == 0) return;
  if (product.k == 0) {
    for (std::int64_t i = 0; i < product.m; ++i) {
      for (std::int64_t j = 0; j < product.n; ++j) {
        product.c[i * product.c_row + j] = product.bias == nullptr ? T{0} : T{0} + product.bias[j];
      }
    }
    return;
  }
  if constexpr (sizeof(T) == 4) {
    if (product.m == 1 || product.n == 1) {
      const std::int64_t done = multiply_row(product);
      if (done == product.n) return;
      product.n -= done;
      product.b += done * product.b_col;
      product.c += done * product.c_col;
      if (product.bias != nullptr && !product.bias_by_row) product.bias += done;
    }
  }
  const Gemm<T> g = planned(product);
  void (*block)(const Gemm<T>&, std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*);
  if constexpr (sizeof(T) == 4) {
    block = pick(LOCKSTEP_FMA_ISA(gemm_f32));
  } else {
    block = pick(LOCKSTEP_FMA_ISA(gemm_f64));
  }
  const std::int64_t m_tasks = g.m_tasks();
  parallel_for(m_tasks * g.n_tasks(), [&](std::int64_t task) {
    const std::int64_t m0 = task % m_tasks * g.m_block, n0 = task / m_tasks * g.n_block;
    block(g, m0, std::min(g.m, m0 + g.m_block), n0, std::min(g.n, n0 + g.n_block), scratch<T>());
  });
}

template <class T>
void matmul_as(const KernelCall& call) {
  const Array &a = call.in[0], &b = call.in[1], &out = call.out[0];
  Gemm<T> g;
  g.a = a.as<T>();
  g.b = b.as<T>();
  g.c = out.as<T>();
  g.m = a.shape[0];
  g.k = a.shape[1];
  g.n = b.shape[1];
  g.a_row = a.strides[0];
  g.a_col = a.strides[1];
  g.b_row = b.strides[0];
  g.b_col = b.strides[1];
  g.c_row = g.n;
  multiply(g);
}

void matmul(const KernelCall& call) {
  call.out[0].dtype == DType::f32 ? matmul_as<float>(call) : matmul_as<double>(call);
}

/// Rows of x are all axes but the last; they form one axis when they are evenly spaced, else one product a row group.
template <class T>
void linear_as(const KernelCall& call) {
  const Array &x = call.in[0], &weight = call.in[1], &out = call.out[0];
  const bool has_bias = call.in.size() > 2 && call.in[2].data != nullptr;
  const std::size_t rank = x.shape.rank();
  Gemm<T> g;
  g.k = weight.shape[1];
  g.n = weight.shape[0];
  g.b = weight.as<T>();
  g.b_row = weight.strides[1];
  g.b_col = weight.strides[0];
  g.a_col = rank == 0 ? 0 : x.strides[rank - 1];
  g.c_row = g.n;
  std::vector<T> bias;
  if (has_bias) {
    g.bias = call.in[2].as<T>();
    if (!call.in[2].contiguous()) {
      for (std::int64_t j = 0; j < g.n; ++j) bias.push_back(g.bias[j * call.in[2].strides[0]]);
      g.bias = bias.data();
    }
  }
  // Merge row axes from the innermost outwards for as long as one stride describes them.
  std::size_t outer = rank - 1;   // axes [0, outer) are walked one by one
  g.m = 1;
  g.a_row = 0;
  while (outer > 0) {
    const std::int64_t size = x.shape[outer - 1], stride = x.strides[outer - 1];
    if (size != 1) {
      if (g.m == 1) {
        g.a_row = stride;
      } else if (stride != g.a_row * g.m) {
        break;
      }
      g.m *= size;
    }
    --outer;
  }
  std::int64_t groups = 1;
  for (std::size_t i = 0; i < outer; ++i) groups *= x.shape[i];
  for (std::int64_t group = 0; group < groups; ++group) {
    std::int64_t rest = group, offset = 0;
    for (std::size_t i = outer; i-- > 0;) {
      offset += rest % x.shape[i] * x.strides[i];
      rest /= x.shape[i];
    }
    g.a = x.as<T>() + offset;
    g.c = out.as<T>() + group * g.m * g.n;
    multiply(g);
  }
}

void linear(const KernelCall& call) {
  call.out[0].dtype == DType::f32 ? linear_as<float>(call) : linear_as<double>(call);
}

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr KernelDef kKernels[] = {
    {.op = "matmul", .dtypes = kFloats, .fn = &matmul},
    {.op = "linear", .dtypes = kFloats, .fn = &linear},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_matmul;
constinit const std::span<const KernelDef> kernels_cpu_matmul = kKernels;

}  // namespace lockstep
#endif
