// What a kernel family shares: one leaf function per instruction set, chosen at run time.
//
// A family file has two parts. The first is compiled once per vector instruction set:
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/cpu/<family>.cpp"
//   #include "hwy/foreach_target.h"
//   #include "kernels/cpu/lanes-inl.h"
//   #if !HWY_ONCE
//   HWY_BEFORE_NAMESPACE();
//   namespace lockstep::HWY_NAMESPACE { namespace hn = hwy::HWY_NAMESPACE; void leaf(...) { vectors } }
//   HWY_AFTER_NAMESPACE();
//   #else
// and the second once, for the baseline: plain loops in `namespace lockstep::scalar`, the entry points that take a
// KernelCall, and the table `kernels_cpu_<family>`. An entry point unpacks the call into plain values and calls
//   pick(LOCKSTEP_ISA(leaf))(...)        or, where the plain loop uses FMA:  pick(LOCKSTEP_FMA_ISA(leaf))(...)
// Leaf names are unique in the whole folder. Leaf functions take plain pointers and numbers only: a std template or a
// header's inline function that is first instantiated inside a vector region may keep that region's instructions and
// then run on a CPU without them.
#pragma once

#include <cstdint>

#include "lockstep/base/math.h"
#include "lockstep/kernels/cpu.h"
#include "lockstep/tensor/kernel.h"

namespace lockstep {

/// The variant for the current instruction set. All three compute the same bytes.
template <class F>
F pick(F scalar, F avx2, F avx512) {
  switch (current_isa()) {
    case Isa::avx2: return avx2;
    case Isa::avx512: return avx512;
    case Isa::scalar: break;
  }
  return scalar;
}

namespace scalar {

/// Fused multiply-add of the plain loops where the CPU has it: one instruction inside with_native_fma.
struct NativeFma {
  [[gnu::always_inline]] static float mul_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  [[gnu::always_inline]] static double mul_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
};

/// The same function without the instruction.
struct ExactFma {
  static float mul_add(float a, float b, float c) { return fma_emulated(a, b, c); }
  static double mul_add(double a, double b, double c) { return fma_emulated(a, b, c); }
};

template <class Body, class... A>
#if defined(__x86_64__)
[[gnu::target("fma")]]
#endif
void with_native_fma(A... a) {
  Body::template run<NativeFma>(a...);
}
template <class Body, class... A>
void with_exact_fma(A... a) {
  Body::template run<ExactFma>(a...);
}
/// The plain loop `Body::run<Fma>(args...)` (marked [[gnu::always_inline]]) with the FMA that this CPU has.
template <class Body, class... A>
auto fma_variant(void (*)(A...)) -> void (*)(A...) {
  return has_fma() ? &with_native_fma<Body, A...> : &with_exact_fma<Body, A...>;
}

}  // namespace scalar
}  // namespace lockstep

/// The three variants of a leaf function, for pick().
#define LOCKSTEP_ISA(leaf) &scalar::leaf, &N_AVX2::leaf, &N_AVX3::leaf
/// The same where `scalar::leaf` is a type with a `run<Fma>` (see fma_variant).
#define LOCKSTEP_FMA_ISA(leaf) scalar::fma_variant<scalar::leaf>(&N_AVX2::leaf), &N_AVX2::leaf, &N_AVX3::leaf
