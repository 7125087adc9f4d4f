// Comparisons to bool, and where. One plain loop serves every instruction set: nothing is rounded here.
#include <span>

#include "kernels/strided.h"

namespace lockstep {
namespace {

constexpr DType kComparable[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};
constexpr DType kBool[] = {DType::boolean};

// Every comparison with a NaN is false, except ne, which is true.
struct Eq { static bool one(auto a, auto b) { return a == b; } };
struct Ne { static bool one(auto a, auto b) { return a != b; } };
struct Lt { static bool one(auto a, auto b) { return a < b; } };
struct Le { static bool one(auto a, auto b) { return a <= b; } };
struct Gt { static bool one(auto a, auto b) { return a > b; } };
struct Ge { static bool one(auto a, auto b) { return a >= b; } };

template <class T, class F>
void compare_loop(const Run& run) {
  const T* a = static_cast<const T*>(run.at[0]);
  const T* b = static_cast<const T*>(run.at[1]);
  std::uint8_t* y = static_cast<std::uint8_t*>(run.at[2]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = F::one(a[i], b[i]) ? 1 : 0;
}

template <class F>
void compare(const KernelCall& call) {
  switch (call.in[0].dtype) {
    case DType::f32: return map(call, &compare_loop<float, F>);
    case DType::f64: return map(call, &compare_loop<double, F>);
    case DType::i64: return map(call, &compare_loop<std::int64_t, F>);
    case DType::i32: return map(call, &compare_loop<std::int32_t, F>);
    default: return map(call, &compare_loop<std::uint8_t, F>);   // u8, and bool as its byte
  }
}

template <class Word>
void where_loop(const Run& run) {
  const std::uint8_t* condition = static_cast<const std::uint8_t*>(run.at[0]);
  const Word* a = static_cast<const Word*>(run.at[1]);
  const Word* b = static_cast<const Word*>(run.at[2]);
  Word* y = static_cast<Word*>(run.at[3]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

void where(const KernelCall& call) {
  switch (size_of(call.in[1].dtype)) {
    case 1: return map(call, &where_loop<std::uint8_t>);
    case 2: return map(call, &where_loop<std::uint16_t>);
    case 4: return map(call, &where_loop<std::uint32_t>);
    default: return map(call, &where_loop<std::uint64_t>);
  }
}

constexpr KernelDef kKernels[] = {
    {.op = "eq", .dtypes = kComparable, .fn = &compare<Eq>},
    {.op = "ne", .dtypes = kComparable, .fn = &compare<Ne>},
    {.op = "lt", .dtypes = kComparable, .fn = &compare<Lt>},
    {.op = "le", .dtypes = kComparable, .fn = &compare<Le>},
    {.op = "gt", .dtypes = kComparable, .fn = &compare<Gt>},
    {.op = "ge", .dtypes = kComparable, .fn = &compare<Ge>},
    {.op = "where", .dtypes = kBool, .fn = &where},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_comparison = kKernels;

}  // namespace lockstep
