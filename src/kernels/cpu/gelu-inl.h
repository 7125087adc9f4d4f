// GELU and its derivative as expression trees over a set of operations O (see lockstep/base/math_f32-inl.h).
//
// No include guard and no namespace: included once inside each namespace that instantiates it, after the trees of exp
// and erf. f32 uses its own normal distribution function, within 1.5e-7 absolute (erf within 3e-7, as A8 allows).

// Phi(x) = 1/2 + x p(x^2) / q(x^2), |x| <= 5.2; 0 and 1 beyond. The last bits of the coefficients were chosen for the
// smallest error after rounding.
inline constexpr float kPhiTop32[] = {0x1.988456p-2f, 0x1.15513ap-5f,  0x1.32868ep-8f,
                                      0x1.62094ep-13f, 0x1.aa41e8p-18f, 0x1.86cd12p-26f};
inline constexpr float kPhiBottom32[] = {1.0f,            0x1.018eb2p-2f,  0x1.d55434p-6f,
                                         0x1.edfc0ap-10f, 0x1.34e1bep-14f, 0x1.416e8p-20f};

template <class O>
[[gnu::always_inline]] inline typename O::F phi32(typename O::F x) {
  using F = typename O::F;
  const F end = O::set(5.2f), zero = O::set(0.0f), z = x * x;
  const F inner = O::fma(x, poly32<O>(z, kPhiTop32) / poly32<O>(z, kPhiBottom32), O::set(0.5f));
  const F y = O::select(O::lt(x, zero - end), zero, O::select(O::lt(end, x), O::set(1.0f), inner));
  return keep_nan32<O>(x, y);
}
// x Phi(x). -inf and NaN give NaN.
template <class O>
[[gnu::always_inline]] inline typename O::F gelu32(typename O::F x) {
  return x * phi32<O>(x);
}
// Phi(x) + x phi(x); infinities and NaN give NaN.
template <class O>
[[gnu::always_inline]] inline typename O::F gelu_slope32(typename O::F x) {
  const typename O::F density = O::set(0x1.988454p-2f) * exp32<O>(O::set(-0.5f) * x * x);
  return O::fma(x, density, phi32<O>(x));
}

// The same with erf to the last bits, for gradient checks.
template <class O>
[[gnu::always_inline]] inline typename O::F phi64(typename O::F x) {
  return O::fma(O::set(0.5), erf64<O>(x * O::set(0x1.6a09e667f3bcdp-1)), O::set(0.5));
}
template <class O>
[[gnu::always_inline]] inline typename O::F gelu64(typename O::F x) {
  return x * phi64<O>(x);
}
template <class O>
[[gnu::always_inline]] inline typename O::F gelu_slope64(typename O::F x) {
  const typename O::F density = O::set(0x1.9884533d43651p-2) * exp64<O>(O::set(-0.5) * x * x);
  return O::fma(x, density, phi64<O>(x));
}
