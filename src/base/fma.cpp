// Fused multiply-add by integers, for CPUs without the instruction.
#include <bit>

#include "lockstep/base/math.h"

namespace lockstep {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kFraction = 0xfffffffffffff, kHidden = 0x10000000000000;

// A finite number as (-1)^negative * digits * 2^exponent.
struct Parts {
  bool negative;
  Wide digits;
  int exponent;
};

Parts split(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & kFraction;
  return {bits >> 63 != 0, field == 0 ? fraction : fraction | kHidden, (field == 0 ? 1 : field) - 1075};
}

int top_bit(Wide x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<std::uint64_t>(x));
}

// Moves the leading digit to bit 125: room for a carry, and for 20 digits below a product's.
void normalise(Parts& p) {
  const int shift = 125 - top_bit(p.digits);
  p.digits <<= shift;
  p.exponent -= shift;
}

// x / 2^n with any lost digit kept as the last bit.
Wide shift_sticky(Wide x, int n) {
  if (n <= 0) return x;
  if (n > 127) return x != 0 ? 1 : 0;
  return x >> n | ((x & ((Wide{1} << n) - 1)) != 0 ? 1 : 0);
}

double round_nearest(bool negative, Wide digits, int exponent) {
  const std::uint64_t sign = std::uint64_t{negative} << 63;
  int drop = top_bit(digits) - 52;
  if (drop < -1074 - exponent) drop = -1074 - exponent;  // subnormal: fewer digits
  Wide kept = digits;
  if (drop > 127) {
    kept = 0;
  } else if (drop > 0) {
    const Wide half = Wide{1} << (drop - 1), lost = digits & ((half << 1) - 1);
    kept = digits >> drop;
    if (lost > half || (lost == half && (kept & 1) != 0)) ++kept;
  } else {
    kept = digits << -drop;
  }
  const auto mantissa = static_cast<std::uint64_t>(kept);
  // A carry out of the mantissa moves into the exponent field, as it should.
  const int field = exponent + drop + 1074;
  const std::uint64_t bits = field > 2045 ? 0x7ff0000000000000
                                          : (static_cast<std::uint64_t>(field) << 52) + mantissa;
  return std::bit_cast<double>(sign | (bits > 0x7ff0000000000000 ? 0x7ff0000000000000 : bits));
}

}  // namespace

double fma_emulated(double a, double b, double c) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const bool factors = a <= kMax && a >= -kMax && b <= kMax && b >= -kMax;
  if (!factors || a == 0 || b == 0) return a * b + c;
  if (!(c <= kMax && c >= -kMax)) return c + c;  // even where a * b would overflow
  if (c == 0) return a * b;
  const Parts x = split(a), y = split(b);
  Parts p{x.negative != y.negative, x.digits * y.digits, x.exponent + y.exponent}, q = split(c);
  normalise(p);
  normalise(q);
  if (p.exponent < q.exponent || (p.exponent == q.exponent && p.digits < q.digits)) std::swap(p, q);
  const Wide small = shift_sticky(q.digits, p.exponent - q.exponent);
  if (p.negative == q.negative) return round_nearest(p.negative, p.digits + small, p.exponent);
  if (p.digits == small) return 0;
  // The leading digits are aligned at bit 125, so `small` exceeds p only when the exponents are equal: swapped above.
  return round_nearest(p.negative, p.digits - small, p.exponent);
}

float fma_emulated(float a, float b, float c) {
  // The product of two floats is exact in double; the sum is rounded to odd there, then once to float.
  const double product = double{a} * double{b}, addend = c;
  const double sum = product + addend, back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (lost == 0 || (bits & 1) != 0 || !(lost == lost)) return static_cast<float>(sum);
  return static_cast<float>(std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1));
}

}  // namespace lockstep
