// Elementary functions on vectors: the expression trees of base/math_*-inl.h over Highway registers. The plain
// functions of base/math.h are the same trees over numbers, so both give the same bits.
#if defined(LOCKSTEP_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_MATH_INL_H
#undef LOCKSTEP_MATH_INL_H
#else
#define LOCKSTEP_MATH_INL_H
#endif

#include "kernels/cpu/lanes-inl.h"
#include "lockstep/base/math_table.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// The operations the trees are written with, for full registers of float or double.
template <class T>
struct MathOps {
  using D = hn::ScalableTag<T>;
  using DI = hn::RebindToSigned<D>;
  using Int = hn::TFromD<DI>;
  using F = hn::Vec<D>;
  using I = hn::Vec<DI>;
  using M = hn::Mask<D>;

  static HWY_INLINE F set(T x) { return hn::Set(D(), x); }
  static HWY_INLINE I seti(Int x) { return hn::Set(DI(), x); }
  static HWY_INLINE F fma(F a, F b, F c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE F sqrt(F x) { return hn::Sqrt(x); }
  static HWY_INLINE M lt(F a, F b) { return hn::Lt(a, b); }
  static HWY_INLINE M eq(F a, F b) { return hn::Eq(a, b); }
  static HWY_INLINE F select(M m, F a, F b) { return hn::IfThenElse(m, a, b); }
  static HWY_INLINE I bits(F x) { return hn::BitCast(DI(), x); }
  static HWY_INLINE F from_bits(I i) { return hn::BitCast(D(), i); }
  static HWY_INLINE I iadd(I a, I b) { return hn::Add(a, b); }
  static HWY_INLINE I isub(I a, I b) { return hn::Sub(a, b); }
  static HWY_INLINE I iand(I a, I b) { return hn::And(a, b); }
  static HWY_INLINE I ior(I a, I b) { return hn::Or(a, b); }
  static HWY_INLINE I ixor(I a, I b) { return hn::Xor(a, b); }
  template <int kBits>
  static HWY_INLINE I shl(I i) { return hn::ShiftLeft<kBits>(i); }
  template <int kBits>
  static HWY_INLINE I shr(I i) {
    using DU = hn::RebindToUnsigned<DI>;
    return hn::BitCast(DI(), hn::ShiftRight<kBits>(hn::BitCast(DU(), i)));
  }
  static HWY_INLINE M bit(I i, Int mask) { return hn::RebindMask(D(), hn::TestBit(i, seti(mask))); }
};

#include "lockstep/base/math_f32-inl.h"
#include "lockstep/base/math_f64-inl.h"

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !HWY_ONCE

#endif  // per-target guard
