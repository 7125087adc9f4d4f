// The f64 elementary functions as expression trees over a set of operations O; pow lies in math_pow-inl.h.
//
// Rules and interface are those of math_f32-inl.h, with F double, I int64, and `seti` taking int64. Branch-free.

template <class O, std::size_t N>
[[gnu::always_inline]] inline typename O::F poly64(typename O::F x, const double (&c)[N]) {
  typename O::F p = O::set(c[N - 1]);
  for (std::size_t k = N - 1; k-- > 0;) p = O::fma(p, x, O::set(c[k]));
  return p;
}
template <class O>
[[gnu::always_inline]] inline typename O::F abs64(typename O::F x) {
  return O::from_bits(O::iand(O::bits(x), O::seti(0x7fffffffffffffff)));
}
template <class O>
[[gnu::always_inline]] inline typename O::I sign64(typename O::F x) {
  return O::iand(O::bits(x), O::seti(static_cast<std::int64_t>(0x8000000000000000u)));
}
// mag with the sign of s; mag must not be negative unless s is.
template <class O>
[[gnu::always_inline]] inline typename O::F with_sign64(typename O::F mag, typename O::F s) {
  return O::from_bits(O::ior(O::bits(mag), sign64<O>(s)));
}
template <class O>
[[gnu::always_inline]] inline typename O::F keep_nan64(typename O::F x, typename O::F result) {
  return O::select(O::eq(x, x), result, x + x);
}
template <class O>
[[gnu::always_inline]] inline typename O::F pow2_64(typename O::I j) {
  return O::from_bits(O::template shl<52>(O::iadd(j, O::seti(1023))));
}
// min(max(x, low), high); NaN stays.
template <class O>
[[gnu::always_inline]] inline typename O::F clamp64(typename O::F x, double low, double high) {
  const typename O::F y = O::select(O::lt(O::set(high), x), O::set(high), x);
  return O::select(O::lt(y, O::set(low)), O::set(low), y);
}

// exp(x + extra) for |extra| <= 2^-40 and -746 <= x <= 710; 0.8 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F exp_sum64(typename O::F x, typename O::F extra) {
  using F = typename O::F;
  using I = typename O::I;
  const F t = O::fma(x, O::set(math::kLog2e64), O::set(math::kRound64));
  const F n = t - O::set(math::kRound64);
  const F high = O::fma(n, O::set(-math::kLn2High64), x), low = O::fma(n, O::set(-math::kLn2Low64), extra);
  const F r = high + low, lost = (high - r) + low;
  const F e = O::set(1.0) + (r + O::fma(r * r, poly64<O>(r, math::kExp64), lost));
  const I i = O::isub(O::bits(t), O::bits(O::set(math::kRound64)));
  const I half = O::isub(O::template shr<1>(O::iadd(i, O::seti(4096))), O::seti(2048));
  return e * pow2_64<O>(half) * pow2_64<O>(O::isub(i, half));
}
// exp, 0.8 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F exp64(typename O::F x) {
  return keep_nan64<O>(x, exp_sum64<O>(clamp64<O>(x, -746.0, 710.0), O::set(0.0)));
}

// x = 2^k (1 + f) as in split32.
template <class O>
[[gnu::always_inline]] inline void split64(typename O::F x, typename O::F bias, typename O::F& k, typename O::F& f) {
  constexpr std::int64_t kRoot = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000, kTwo52 = 0x4330000000000000;
  const typename O::I i = O::iadd(O::bits(x), O::seti(kOne - kRoot));
  k = O::from_bits(O::ior(O::template shr<52>(i), O::seti(kTwo52))) - O::set(0x1p52) - bias;
  f = O::from_bits(O::iadd(O::iand(i, O::seti(0xfffffffffffff)), O::seti(kRoot))) - O::set(1.0);
}
// log of 2^k (1 + f), plus a small `extra`: with s = f / (2 + f), h = f^2 / 2, R = s^2 q(s^2) it is
// k ln2 + (f - (h - (s (h + R) + extra))), as in FDLIBM's e_log.
template <class O>
[[gnu::always_inline]] inline typename O::F log_sum64(typename O::F k, typename O::F f, typename O::F extra) {
  using F = typename O::F;
  const F s = f / (O::set(2.0) + f), z = s * s, h = O::set(0.5) * f * f;
  const F tail = O::fma(s, O::fma(z, poly64<O>(z, math::kLog64), h), O::fma(k, O::set(math::kLn2Low64), extra));
  return k * O::set(math::kLn2High64) - ((h - tail) - f);
}
template <class O>
[[gnu::always_inline]] inline typename O::F log_edges64(typename O::F x, typename O::F zero, typename O::F result) {
  using F = typename O::F;
  const F inf = O::from_bits(O::seti(0x7ff0000000000000));
  F y = O::select(O::eq(x, inf), inf, result);
  y = O::select(O::lt(x, zero), O::from_bits(O::seti(0x7ff8000000000000)), y);
  y = O::select(O::eq(x, zero), O::from_bits(O::seti(static_cast<std::int64_t>(0xfff0000000000000u))), y);
  return keep_nan64<O>(x, y);
}
// log, 1.0 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F log64(typename O::F x) {
  using F = typename O::F;
  const auto tiny = O::lt(x, O::set(0x1p-1022));
  F k, f;
  split64<O>(O::select(tiny, x * O::set(0x1p52), x), O::select(tiny, O::set(1075.0), O::set(1023.0)), k, f);
  return log_edges64<O>(x, O::set(0.0), log_sum64<O>(k, f, O::set(0.0)));
}
// log1p, 1.2 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F log1p64(typename O::F x) {
  using F = typename O::F;
  const F one = O::set(1.0), u = one + x, v = u - one;
  const F lost = (one - (u - v)) + (x - v);
  F k, f;
  split64<O>(u, O::set(1023.0), k, f);
  const F y = log_edges64<O>(x, O::set(-1.0), log_sum64<O>(k, f, lost / u));
  return O::select(O::eq(x, O::set(0.0)), x, y);
}
// expm1, 1.2 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F expm1_64(typename O::F x) {
  using F = typename O::F;
  const F y = clamp64<O>(x, -40.0, 710.0);
  const F t = O::fma(y, O::set(math::kLog2e64), O::set(math::kRound64));
  const F n = t - O::set(math::kRound64);
  const F high = O::fma(n, O::set(-math::kLn2High64), y), low = n * O::set(-math::kLn2Low64), r = high + low;
  const F scale = pow2_64<O>(O::isub(O::isub(O::bits(t), O::bits(O::set(math::kRound64))), O::seti(1)));
  const F big = O::fma(scale, high, scale - O::set(0.5));
  const F sum = O::fma(scale, O::fma(r * r, poly64<O>(r, math::kExp64), low), big);
  return keep_nan64<O>(x, O::select(O::lt(abs64<O>(x), O::set(0x1p-54)), x, sum + sum));
}
// tanh, 1.2 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F tanh64(typename O::F x) {
  using F = typename O::F;
  const F a = abs64<O>(x), z = x * x, one = O::set(1.0);
  const F small = O::fma(x * z, poly64<O>(z, math::kTanh64), x);
  const F large = one - O::set(2.0) / (exp64<O>(a + a) + one);
  return keep_nan64<O>(x, with_sign64<O>(O::select(O::lt(a, O::set(0.9)), small, large), x));
}
// 1 / (1 + e^-x), 1.4 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F sigmoid64(typename O::F x) {
  using F = typename O::F;
  const F one = O::set(1.0), z = exp64<O>(O::set(0.0) - abs64<O>(x));
  const F top = O::select(O::lt(x, O::set(0.0)), z, one), d = one + z, d_low = z - (d - one);
  const F inverse = one / d, q = top * inverse, minus_q = O::set(0.0) - q;
  const F residual = O::fma(minus_q, d_low, O::fma(minus_q, d, top));
  return keep_nan64<O>(x, O::fma(residual, inverse, q));
}
// erf, 1.3 ULP.
template <class O>
[[gnu::always_inline]] inline typename O::F erf64(typename O::F x) {
  using F = typename O::F;
  const F a = abs64<O>(x), one = O::set(1.0);
  const F small = O::fma(x, poly64<O>(x * x, math::kErfSmall64), x);
  const F u = O::select(O::lt(O::set(5.95), a), O::set(5.95), a) - one;
  const F large = one - exp64<O>(poly64<O>(u, math::kErfLarge64));
  return keep_nan64<O>(x, O::select(O::lt(a, one), small, with_sign64<O>(large, x)));
}
// sin or cos of r + low, |r| <= pi/4 (a little more), turned by i quadrants.
template <class O>
[[gnu::always_inline]] inline typename O::F quadrant64(typename O::F r, typename O::F low, typename O::I i) {
  using F = typename O::F;
  const F z = r * r, half = O::set(0.5) * z, one = O::set(1.0), w = one - half;
  const F s = r + O::fma(r * z, poly64<O>(z, math::kSin64), low);
  const F c = w + (((one - w) - half) + O::fma(z * z, poly64<O>(z, math::kCos64), O::set(0.0) - r * low));
  return O::from_bits(O::ixor(O::bits(O::select(O::bit(i, 1), c, s)), O::template shl<62>(O::iand(i, O::seti(2)))));
}
// sin (quadrant 0) or cos (quadrant 1), 0.9 ULP for |x| <= kTrigLimit64; meaningless beyond.
template <class O>
[[gnu::always_inline]] inline typename O::F trig64(typename O::F x, std::int64_t quadrant) {
  using F = typename O::F;
  const F t = O::fma(x, O::set(math::kTwoOverPi64), O::set(math::kRound64));
  const F n = t - O::set(math::kRound64);
  const F a = O::fma(n, O::set(-math::kPio2A64), x), b = n * O::set(math::kPio2B64);
  const F d = a - b, back = d - a, d_low = (a - (d - back)) - (b + back);
  const F rest = O::fma(n, O::set(-math::kPio2C64), d_low - O::fma(n, O::set(math::kPio2B64), O::set(0.0) - b));
  const F r = d + rest, low = (d - r) + rest;
  return keep_nan64<O>(x, quadrant64<O>(r, low, O::iadd(O::bits(t), O::seti(quadrant))));
}
template <class O>
[[gnu::always_inline]] inline typename O::F sin64(typename O::F x) {
  return O::select(O::eq(x, O::set(0.0)), x, trig64<O>(x, 0));
}
template <class O>
[[gnu::always_inline]] inline typename O::F cos64(typename O::F x) {
  return trig64<O>(x, 1);
}
