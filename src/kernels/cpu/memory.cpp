// Casts, copies, fills and padding. One plain loop serves every instruction set: each element has one exact answer.
#include <limits>
#include <span>
#include <type_traits>

#include "kernels/strided.h"

namespace lockstep {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};
constexpr DType kStored[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64,
                             DType::i32, DType::u8,  DType::i8,   DType::boolean};

/// A bool element: one byte, 0 or 1. A type of its own, since its casts differ from those of u8.
struct Bool {
  std::uint8_t byte;
};

/// Floating to integer truncates toward zero and saturates; NaN gives 0. Integer to narrower integer keeps the
/// low bits. To bool: not equal to zero (NaN is true).
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    if constexpr (std::is_same_v<To, Bool>) {
      return x;
    } else {
      return static_cast<To>(x.byte);
    }
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<std::uint8_t>(x != From{0} ? 1 : 0)};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The first power of two that To does not hold is exact in any floating type.
    constexpr From kEnd = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    constexpr From kBegin = static_cast<From>(std::numeric_limits<To>::min());
    if (x != x) return To{0};
    if (x >= kEnd) return std::numeric_limits<To>::max();
    if (x <= kBegin) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void cast_loop(const Run& run) {
  const From* x = static_cast<const From*>(run.at[0]);
  To* y = static_cast<To*>(run.at[1]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = convert<To, From>(x[i]);
}

template <class From>
Loop cast_from(DType to) {
  switch (to) {
    case DType::f32: return &cast_loop<From, float>;
    case DType::f64: return &cast_loop<From, double>;
    case DType::i64: return &cast_loop<From, std::int64_t>;
    case DType::i32: return &cast_loop<From, std::int32_t>;
    case DType::u8: return &cast_loop<From, std::uint8_t>;
    default: return &cast_loop<From, Bool>;
  }
}

Loop cast_loop_of(DType from, DType to) {
  switch (from) {
    case DType::f32: return cast_from<float>(to);
    case DType::f64: return cast_from<double>(to);
    case DType::i64: return cast_from<std::int64_t>(to);
    case DType::i32: return cast_from<std::int32_t>(to);
    case DType::u8: return cast_from<std::uint8_t>(to);
    default: return cast_from<Bool>(to);
  }
}

void copy(const Array& to, const Array& from) {
  copy_strided(to.shape, to.data, to.strides, from.data, from.strides, size_of(to.dtype));
}

void cast(const KernelCall& call) {
  const Array& x = call.in[0];
  const Array& y = call.out[0];
  if (x.dtype == y.dtype) return copy(y, x);
  map(call, cast_loop_of(x.dtype, y.dtype));
}

void contiguous(const KernelCall& call) { copy(call.out[0], call.in[0]); }

void copy_into(const KernelCall& call) { copy(call.in[0], call.in[1]); }

template <class Word>
void fill_loop(const Run& run) {
  const Word value = *static_cast<const Word*>(run.params);
  Word* y = static_cast<Word*>(run.at[0]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] = value;
}

void fill(const KernelCall& call) {
  const Array& y = call.out[0];
  const Operand operand{y.data, &y.shape, &y.strides, size_of(y.dtype), true, true};
  // The value in the output's dtype, by the rules of cast.
  Run one;
  std::uint64_t word = 0;
  one.n = 1;
  one.at[0] = const_cast<double*>(&call.attrs.get<double>(1));
  one.at[1] = &word;
  cast_loop_of(DType::f64, y.dtype)(one);
  Loop loop = &fill_loop<std::uint64_t>;
  if (size_of(y.dtype) == 1) loop = &fill_loop<std::uint8_t>;
  if (size_of(y.dtype) == 4) loop = &fill_loop<std::uint32_t>;
  for_each_run(y.shape, {&operand, 1}, loop, &word);
}

/// Zeros of the output's shape with x in the middle of one axis: three strided pieces.
void pad_axis(const KernelCall& call) {
  const Array& x = call.in[0];
  const Array& y = call.out[0];
  const auto axis = static_cast<std::size_t>(call.attrs.get<std::int64_t>(0));
  const std::int64_t before = call.attrs.get<std::int64_t>(1);
  const std::size_t size = size_of(y.dtype);
  const std::uint64_t zero = 0;
  const auto piece = [&](std::int64_t start, std::int64_t length, const void* from, const Strides& strides) {
    Shape shape = y.shape;
    shape[axis] = length;
    copy_strided(shape, static_cast<char*>(y.data) + static_cast<std::size_t>(start * y.strides[axis]) * size,
                 y.strides, from, strides, size);
  };
  const std::int64_t length = x.shape[axis];
  piece(0, before, &zero, Strides{});
  piece(before, length, x.data, x.strides);
  piece(before + length, y.shape[axis] - before - length, &zero, Strides{});
}

constexpr KernelDef kKernels[] = {
    {.op = "cast", .dtypes = kAll, .fn = &cast},
    {.op = "contiguous", .dtypes = kStored, .fn = &contiguous},
    {.op = "copy_", .dtypes = kStored, .fn = &copy_into},
    {.op = "fill", .dtypes = kAll, .fn = &fill},
    {.op = "pad_axis", .dtypes = kStored, .fn = &pad_axis},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_memory = kKernels;

}  // namespace lockstep
