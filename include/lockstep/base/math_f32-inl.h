// The f32 elementary functions as expression trees over a set of operations O: scalar floats or vectors alike.
//
// No include guard and no namespace: included once inside each namespace (and target region) that instantiates it,
// after lockstep/base/math_table.h. Branch-free: +, -, *, /, one-rounding fma, compare and select, integer bits only.
// O provides
//   F, I, M                      float, int32 and mask types; F has + - * /
//   set(float) -> F, seti(int32) -> I
//   fma(a, b, c)                 a * b + c, rounded once
//   lt, eq (F, F) -> M           false for NaN;  select(M, F, F)
//   bits(F) -> I, from_bits(I) -> F
//   iadd, isub, iand, ior, ixor (I, I), shl<n>(I), shr<n>(I)  (logical; all modulo 2^32)
//   bit(I, int32) -> M           whether any of the given bits is set
// NaN in gives that NaN, quiet, out; NaN made here is +0x7fc00000. Errors are in ULP, over every finite float.

// c[n-1] x^(n-1) + ... + c[0], one fma a term from the highest.
template <class O, std::size_t N>
[[gnu::always_inline]] inline typename O::F poly32(typename O::F x, const float (&c)[N]) {
  typename O::F p = O::set(c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) p = O::fma(p, x, O::set(c[k]));
  return p;
}
template <class O>
[[gnu::always_inline]] inline typename O::F abs32(typename O::F x) {
  return O::from_bits(O::iand(O::bits(x), O::seti(0x7fffffff)));
}
// mag with the sign of s; mag must not be negative unless s is.
template <class O>
[[gnu::always_inline]] inline typename O::F with_sign32(typename O::F mag, typename O::F s) {
  return O::from_bits(O::ior(O::bits(mag), O::iand(O::bits(s), O::seti(static_cast<std::int32_t>(0x80000000u)))));
}
template <class O>
[[gnu::always_inline]] inline typename O::F keep_nan32(typename O::F x, typename O::F result) {
  return O::select(O::eq(x, x), result, x + x);
}
// 2^j, -126 <= j <= 127.
template <class O>
[[gnu::always_inline]] inline typename O::F pow2_32(typename O::I j) {
  return O::from_bits(O::template shl<23>(O::iadd(j, O::seti(127))));
}

// exp, 0.9 ULP: what the reduced argument loses is added back.
template <class O>
[[gnu::always_inline]] inline typename O::F exp32(typename O::F x) {
  using F = typename O::F;
  using I = typename O::I;
  F y = O::select(O::lt(O::set(89.0f), x), O::set(89.0f), x);
  y = O::select(O::lt(y, O::set(-104.0f)), O::set(-104.0f), y);
  const F t = O::fma(y, O::set(math::kLog2e32), O::set(math::kRound32));
  const F n = t - O::set(math::kRound32);
  const F high = O::fma(n, O::set(-math::kLn2High32), y), low = n * O::set(-math::kLn2Low32);
  const F r = high + low, lost = (high - r) + low;
  const F e = O::set(1.0f) + (r + O::fma(r * r, poly32<O>(r, math::kExp32), lost));
  const I i = O::isub(O::bits(t), O::bits(O::set(math::kRound32)));
  const I half = O::isub(O::template shr<1>(O::iadd(i, O::seti(512))), O::seti(256));
  return keep_nan32<O>(x, e * pow2_32<O>(half) * pow2_32<O>(O::isub(i, half)));
}

// The parts of a logarithm: x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for positive normal x; `bias` is
// subtracted from the exponent field.
template <class O>
[[gnu::always_inline]] inline void split32(typename O::F x, typename O::F bias, typename O::F& k, typename O::F& f) {
  const typename O::I i = O::iadd(O::bits(x), O::seti(0x3f800000 - 0x3f3504f3));
  k = O::from_bits(O::ior(O::template shr<23>(i), O::seti(0x4b000000))) - O::set(0x1p23f) - bias;
  f = O::from_bits(O::iadd(O::iand(i, O::seti(0x7fffff)), O::seti(0x3f3504f3))) - O::set(1.0f);
}
// log of 2^k (1 + f), plus a small `extra`.
template <class O>
[[gnu::always_inline]] inline typename O::F log_sum32(typename O::F k, typename O::F f, typename O::F extra) {
  using F = typename O::F;
  const F big = k * O::set(math::kLn2High32), sum = big + f, lost = (big - sum) + f;
  return sum + O::fma(f * f, poly32<O>(f, math::kLog32), O::fma(k, O::set(math::kLn2Low32), extra + lost));
}
// Zero gives -inf, negative NaN, +inf itself.
template <class O>
[[gnu::always_inline]] inline typename O::F log_edges32(typename O::F x, typename O::F zero, typename O::F result) {
  using F = typename O::F;
  const F inf = O::from_bits(O::seti(0x7f800000));
  F y = O::select(O::eq(x, inf), inf, result);
  y = O::select(O::lt(x, zero), O::from_bits(O::seti(0x7fc00000)), y);
  y = O::select(O::eq(x, zero), O::from_bits(O::seti(static_cast<std::int32_t>(0xff800000u))), y);
  return keep_nan32<O>(x, y);
}

// log, 0.9 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F log32(typename O::F x) {
  using F = typename O::F;
  const auto tiny = O::lt(x, O::set(0x1p-126f));
  F k, f;
  split32<O>(O::select(tiny, x * O::set(0x1p23f), x), O::select(tiny, O::set(150.0f), O::set(127.0f)), k, f);
  return log_edges32<O>(x, O::set(0.0f), log_sum32<O>(k, f, O::set(0.0f)));
}

// log1p, 0.9 ULP: the rounding error of 1 + x is divided back in.
template <class O>
[[gnu::always_inline]] inline typename O::F log1p32(typename O::F x) {
  using F = typename O::F;
  const F one = O::set(1.0f), u = one + x, v = u - one;
  const F lost = (one - (u - v)) + (x - v);
  F k, f;
  split32<O>(u, O::set(127.0f), k, f);
  const F y = log_edges32<O>(x, O::set(-1.0f), log_sum32<O>(k, f, lost / u));
  return O::select(O::eq(x, O::set(0.0f)), x, y);
}

// expm1, 1.2 ULP: 2^n e^r - 1 = 2 (2^(n-1) r + (2^(n-1) - 1/2) + 2^(n-1) (e^r - 1 - r)).
template <class O>
[[gnu::always_inline]] inline typename O::F expm1_32(typename O::F x) {
  using F = typename O::F;
  F y = O::select(O::lt(O::set(89.0f), x), O::set(89.0f), x);
  y = O::select(O::lt(y, O::set(-20.0f)), O::set(-20.0f), y);
  const F t = O::fma(y, O::set(math::kLog2e32), O::set(math::kRound32));
  const F n = t - O::set(math::kRound32);
  const F high = O::fma(n, O::set(-math::kLn2High32), y), low = n * O::set(-math::kLn2Low32), r = high + low;
  const F scale = pow2_32<O>(O::isub(O::isub(O::bits(t), O::bits(O::set(math::kRound32))), O::seti(1)));
  const F big = O::fma(scale, high, scale - O::set(0.5f));
  const F sum = O::fma(scale, O::fma(r * r, poly32<O>(r, math::kExp32), low), big);
  return keep_nan32<O>(x, O::select(O::lt(abs32<O>(x), O::set(0x1p-25f)), x, sum + sum));
}

// tanh, 1.0 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F tanh32(typename O::F x) {
  using F = typename O::F;
  const F a = abs32<O>(x), z = x * x, one = O::set(1.0f);
  const F small = O::fma(x * z, poly32<O>(z, math::kTanh32), x);
  const F large = one - O::set(2.0f) / (exp32<O>(a + a) + one);
  return keep_nan32<O>(x, with_sign32<O>(O::select(O::lt(a, O::set(0.9f)), small, large), x));
}

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows, the quotient corrected by its residual; 1.48 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F sigmoid32(typename O::F x) {
  using F = typename O::F;
  const F one = O::set(1.0f), z = exp32<O>(O::set(0.0f) - abs32<O>(x));
  const F top = O::select(O::lt(x, O::set(0.0f)), z, one), d = one + z, d_low = z - (d - one);
  const F inverse = one / d, q = top * inverse, minus_q = O::set(0.0f) - q;
  const F residual = O::fma(minus_q, d_low, O::fma(minus_q, d, top));
  return keep_nan32<O>(x, O::fma(residual, inverse, q));
}

// erf, 1.1 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F erf32(typename O::F x) {
  using F = typename O::F;
  const F a = abs32<O>(x);
  const F small = O::fma(x, poly32<O>(x * x, math::kErfSmall32), x);
  const F t = O::select(O::lt(O::set(4.0f), a), O::set(4.0f), a);
  const F large = O::set(1.0f) - exp32<O>(poly32<O>(t, math::kErfLarge32));
  return keep_nan32<O>(x, O::select(O::lt(a, O::set(1.0f)), small, with_sign32<O>(large, x)));
}

// sin (quadrant 0) or cos (quadrant 1), 1.0 ULP for |x| <= kTrigLimit32; meaningless beyond.
template <class O>
[[gnu::always_inline]] inline typename O::F trig32(typename O::F x, std::int32_t quadrant) {
  using F = typename O::F;
  const F t = O::fma(x, O::set(math::kTwoOverPi32), O::set(math::kRound32));
  const F n = t - O::set(math::kRound32);
  // a is exact; a - n B as a pair by TwoProduct and TwoSum, less n C, renormalised to r + low
  const F a = O::fma(n, O::set(-math::kPio2A32), x), b = n * O::set(math::kPio2B32);
  const F d = a - b, back = d - a, d_low = (a - (d - back)) - (b + back);
  const F rest = O::fma(n, O::set(-math::kPio2C32), d_low - O::fma(n, O::set(math::kPio2B32), O::set(0.0f) - b));
  const F r = d + rest, low = (d - r) + rest;
  const F z = r * r, half = O::set(0.5f) * z, one = O::set(1.0f), w = one - half;
  const F s = r + O::fma(r * z, poly32<O>(z, math::kSin32), low);
  const F c = w + (((one - w) - half) + O::fma(z * z, poly32<O>(z, math::kCos32), O::set(0.0f) - r * low));
  const auto i = O::iadd(O::bits(t), O::seti(quadrant));
  const F y = O::select(O::bit(i, 1), c, s);
  return keep_nan32<O>(x, O::from_bits(O::ixor(O::bits(y), O::template shl<30>(O::iand(i, O::seti(2))))));
}
template <class O>
[[gnu::always_inline]] inline typename O::F sin32(typename O::F x) {
  return O::select(O::eq(x, O::set(0.0f)), x, trig32<O>(x, 0));
}
template <class O>
[[gnu::always_inline]] inline typename O::F cos32(typename O::F x) {
  return trig32<O>(x, 1);
}
