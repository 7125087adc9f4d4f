// The operations O of math_*-inl.h for plain scalars.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lockstep/base/math.h"
#include "lockstep/base/math_table.h"

namespace lockstep::math {

// a * b + c by the compiler's builtin: one instruction once inlined into a function with target("fma").
struct BuiltinFma {
  [[gnu::always_inline]] static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  [[gnu::always_inline]] static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct EmulatedFma {
  static float fma(float a, float b, float c) { return fma_emulated(a, b, c); }
  static double fma(double a, double b, double c) { return fma_emulated(a, b, c); }
};

// T is float or double, Int and UInt the integers of its size, Fma one of the two above.
template <class T, class Int, class UInt, class Fma>
struct ScalarOps {
  using F = T;
  using I = Int;
  using M = bool;
  [[gnu::always_inline]] static F set(T x) { return x; }
  [[gnu::always_inline]] static I seti(Int x) { return x; }
  [[gnu::always_inline]] static F fma(F a, F b, F c) { return Fma::fma(a, b, c); }
  [[gnu::always_inline]] static M lt(F a, F b) { return a < b; }
  [[gnu::always_inline]] static M eq(F a, F b) { return a == b; }
  [[gnu::always_inline]] static M mand(M a, M b) { return a & b; }
  [[gnu::always_inline]] static M mor(M a, M b) { return a | b; }
  [[gnu::always_inline]] static M mnot(M a) { return !a; }
  [[gnu::always_inline]] static F select(M m, F a, F b) { return m ? a : b; }
  [[gnu::always_inline]] static I bits(F x) { return __builtin_bit_cast(Int, x); }
  [[gnu::always_inline]] static F from_bits(I x) { return __builtin_bit_cast(T, x); }
  [[gnu::always_inline]] static I iadd(I a, I b) { return static_cast<I>(static_cast<UInt>(a) + static_cast<UInt>(b)); }
  [[gnu::always_inline]] static I isub(I a, I b) { return static_cast<I>(static_cast<UInt>(a) - static_cast<UInt>(b)); }
  [[gnu::always_inline]] static I iand(I a, I b) { return a & b; }
  [[gnu::always_inline]] static I ior(I a, I b) { return a | b; }
  [[gnu::always_inline]] static I ixor(I a, I b) { return a ^ b; }
  template <int n>
  [[gnu::always_inline]] static I shl(I a) {
    return static_cast<I>(static_cast<UInt>(a) << n);
  }
  template <int n>
  [[gnu::always_inline]] static I shr(I a) {
    return static_cast<I>(static_cast<UInt>(a) >> n);
  }
  [[gnu::always_inline]] static M bit(I a, Int which) { return (a & which) != 0; }
};

template <class Fma>
using Scalar32 = ScalarOps<float, std::int32_t, std::uint32_t, Fma>;
template <class Fma>
using Scalar64 = ScalarOps<double, std::int64_t, std::uint64_t, Fma>;

namespace tree {
#include "lockstep/base/math_f32-inl.h"
#include "lockstep/base/math_f64-inl.h"
#include "lockstep/base/math_pow-inl.h"
}  // namespace tree

}  // namespace lockstep::math
