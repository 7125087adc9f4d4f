// pow in f64 as an expression tree over O; included after math_f64-inl.h under the same rules.
//
// pow in f32 is this function of the widened arguments, rounded to f32 (0.51 ULP). x^y = exp(y log|x|) with the
// logarithm in two doubles (about 2^-66 relative) and its product with y in two; 0.9 ULP.
// Edge cases are those of IEEE 754: pow(x, 0) = pow(1, y) = 1 even for NaN; a negative finite x with y no integer
// gives NaN; signs of zeros and infinities follow odd integers y. O provides, besides the rest,
//   mand, mor (M, M), mnot(M)

// high + low = log(a) for finite a > 0.
template <class O>
[[gnu::always_inline]] inline void log_pair64(typename O::F a, typename O::F& high, typename O::F& low) {
  using F = typename O::F;
  const auto tiny = O::lt(a, O::set(0x1p-1022));
  F k, f;
  split64<O>(O::select(tiny, a * O::set(0x1p52), a), O::select(tiny, O::set(1075.0), O::set(1023.0)), k, f);
  const F zero = O::set(0.0), two = O::set(2.0);
  // s = f / (2 + f), z = s^2, s3 = s^3, each as a pair
  const F d = two + f, d_low = f - (d - two), s = f / d;
  const F s_low = (O::fma(zero - s, d, f) - s * d_low) / d;
  const F z = s * s, z_low = O::fma(s, s, zero - z) + two * s * s_low;
  const F s3 = s * z, s3_low = O::fma(s, z, zero - s3) + (s * z_low + s_low * z);
  // c = 2/3 + s^2 q(s^2), t = s3 c
  const F p = z * poly64<O>(z, math::kPowLog64);
  const F c = O::set(math::kTwoThirdsHigh) + p;
  const F c_low = ((O::set(math::kTwoThirdsHigh) - c) + p) + O::set(math::kTwoThirdsLow);
  const F t = s3 * c, t_low = O::fma(s3, c, zero - t) + (s3 * c_low + s3_low * c);
  // k ln2 + 2 s + t, largest first
  const F first = k * O::set(math::kLn2High64), twice = s + s;
  const F h1 = first + twice, e1 = (first - h1) + twice;
  const F h2 = h1 + t, e2 = (h1 - h2) + t;
  const F rest = ((e1 + e2) + (s_low + s_low)) + (t_low + k * O::set(math::kLn2Low64));
  high = h2 + rest;
  low = (h2 - high) + rest;
}

template <class O>
[[gnu::always_inline]] inline typename O::F pow64(typename O::F x, typename O::F y) {
  using F = typename O::F;
  const F zero = O::set(0.0), one = O::set(1.0), inf = O::from_bits(O::seti(0x7ff0000000000000));
  const F a = abs64<O>(x), b = abs64<O>(y);
  F high, low;
  log_pair64<O>(a, high, low);
  const F product = y * high, product_low = O::fma(y, high, zero - product) + y * low;
  const F bounded = clamp64<O>(product, -746.0, 710.0);
  F mag = exp_sum64<O>(bounded, O::select(O::eq(bounded, product), product_low, zero));
  // infinite and zero arguments
  const auto falls = O::lt(y, zero);
  mag = O::select(O::eq(a, zero), O::select(falls, inf, zero), mag);
  mag = O::select(O::eq(a, inf), O::select(falls, zero, inf), mag);
  const auto shrinks = O::mor(O::mand(O::lt(a, one), O::lt(zero, y)), O::mand(O::lt(one, a), falls));
  mag = O::select(O::eq(b, inf), O::select(O::eq(a, one), one, O::select(shrinks, zero, inf)), mag);
  // integer y: |y| + 2^52 has y's parity in its last bit
  const auto fits = O::lt(b, O::set(0x1p52));
  const F shifted = O::select(fits, b + O::set(0x1p52), b);
  const auto whole = O::mor(O::mnot(fits), O::eq(shifted - O::set(0x1p52), b));
  const auto odd = O::mand(whole, O::mand(O::bit(O::bits(shifted), 1), O::lt(b, O::set(0x1p53))));
  F result = O::select(odd, with_sign64<O>(mag, x), mag);
  const auto undefined = O::mand(O::mand(O::lt(x, zero), O::lt(a, inf)), O::mnot(whole));
  result = O::select(undefined, O::from_bits(O::seti(0x7ff8000000000000)), result);
  result = O::select(O::mand(O::eq(x, x), O::eq(y, y)), result, x + y);
  return O::select(O::mor(O::eq(y, zero), O::eq(x, one)), one, result);
}
