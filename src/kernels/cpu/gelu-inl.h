// GELU and its derivative as expression trees over a set of operations O (see lockstep/base/math_f32-inl.h).
//
// No include guard and no namespace: included once inside each namespace that instantiates it, after the trees of exp
// and erf. f32 uses its own normal distribution function, within 1.5e-7 absolute (erf within 3e-7, as A8 allows).

// Phi(-a) = (q(a^2) / 2 - a p(a^2)) / q(a^2), 0 <= a <= 5.2: within 1.43e-7 for every float; 0 beyond. The last bits
// of the coefficients were chosen for the smallest error after rounding.
inline constexpr float kPhiTop32[] = {0x1.98845p-2f,  0x1.155146p-5f,  0x1.32869p-8f,
                                      0x1.62094ap-13f, 0x1.aa41e4p-18f, 0x1.86cd2p-26f};
inline constexpr float kPhiBottom32[] = {1.0f,            0x1.018eaep-2f,  0x1.d5543ep-6f,
                                         0x1.edfc16p-10f, 0x1.34e1b2p-14f, 0x1.416e86p-20f};

template <class O>
[[gnu::always_inline]] inline typename O::F phi_tail32(typename O::F a) {
  const typename O::F z = a * a, top = poly32<O>(z, kPhiTop32), bottom = poly32<O>(z, kPhiBottom32);
  const typename O::F y = O::fma(O::set(0.0f) - a, top, O::set(0.5f) * bottom) / bottom;
  return O::select(O::lt(O::set(5.2f), a), O::set(0.0f), y);
}
// x Phi(x) = max(x, 0) - |x| Phi(-|x|). inf gives inf, -inf gives +0.
template <class O>
[[gnu::always_inline]] inline typename O::F gelu32(typename O::F x) {
  using F = typename O::F;
  const F a = abs32<O>(x), zero = O::set(0.0f), positive = O::select(O::lt(zero, x), x, zero);
  const F y = O::fma(zero - a, phi_tail32<O>(a), positive);
  return keep_nan32<O>(x, O::select(O::lt(O::set(5.2f), a), positive, y));
}
// Phi(x) + x phi(x). inf gives 1, -inf gives 0.
template <class O>
[[gnu::always_inline]] inline typename O::F gelu_slope32(typename O::F x) {
  using F = typename O::F;
  const F a = abs32<O>(x), zero = O::set(0.0f), tail = phi_tail32<O>(a);
  const auto right = O::lt(zero, x);
  const F near = O::select(O::lt(O::set(40.0f), a), zero, x);
  const F density = O::set(0x1.988454p-2f) * exp32<O>(O::set(-0.5f) * near * near);
  const F y = O::fma(near, density, O::select(right, zero - tail, tail));
  return keep_nan32<O>(x, y + O::select(right, O::set(1.0f), zero));
}

// The same with erf to the last bits, for gradient checks.
template <class O>
[[gnu::always_inline]] inline typename O::F phi64(typename O::F x) {
  return O::fma(O::set(0.5), erf64<O>(x * O::set(0x1.6a09e667f3bcdp-1)), O::set(0.5));
}
template <class O>
[[gnu::always_inline]] inline typename O::F gelu64(typename O::F x) {
  return O::select(O::lt(x, O::set(-40.0)), O::set(0.0), x * phi64<O>(x));
}
template <class O>
[[gnu::always_inline]] inline typename O::F gelu_slope64(typename O::F x) {
  using F = typename O::F;
  const F near = O::select(O::lt(O::set(40.0), abs64<O>(x)), O::set(0.0), x);
  const F density = O::set(0x1.9884533d43651p-2) * exp64<O>(O::set(-0.5) * near * near);
  return O::fma(near, density, phi64<O>(x));
}
