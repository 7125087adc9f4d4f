// Payne-Hanek reduction with 128-bit integers.
#include "base/trig_reduce.h"

#include <bit>

#include "lockstep/base/math.h"
#include "lockstep/base/math_table.h"

namespace lockstep {

namespace {

__extension__ using Wide = unsigned __int128;

// 64 zero bits, then the binary digits of 2/pi after the point.
constexpr std::uint64_t kTwoOverPiDigits[] = {
    0,
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// 64 digits from digit `first` on, where digit 1 has weight 1/2 and digits before it are zero; first >= -63.
std::uint64_t digits(int first) {
  const int at = first + 63;  // offset in the table's bits
  const std::uint64_t high = kTwoOverPiDigits[at / 64], low = kTwoOverPiDigits[at / 64 + 1];
  const int shift = at % 64;
  return shift == 0 ? high : high << shift | low >> (64 - shift);
}

}  // namespace

Reduced reduce_large(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent
  const std::uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  // Digits before `exponent - 1` contribute multiples of 4 quadrants; 192 digits from there on are enough.
  const int first = exponent - 1;
  const Wide low = Wide{mantissa} * digits(first + 128);
  const Wide mid = Wide{mantissa} * digits(first + 64) + static_cast<std::uint64_t>(low >> 64);
  std::uint64_t w2 = mantissa * digits(first) + static_cast<std::uint64_t>(mid >> 64);
  auto w1 = static_cast<std::uint64_t>(mid), w0 = static_cast<std::uint64_t>(low);
  // w2:w1:w0 * 2^-190 is |x| * 2/pi modulo 4; nearest quadrant, signed fraction.
  std::uint64_t quadrant = w2 >> 62;
  bool negative = (w2 >> 61 & 1) != 0;
  w2 &= 0x3fffffffffffffff;
  if (negative) {
    ++quadrant;
    w0 = ~w0 + 1;
    w1 = ~w1 + (w0 == 0 ? 1 : 0);
    w2 = (~w2 + (w0 == 0 && w1 == 0 ? 1 : 0)) & 0x3fffffffffffffff;
  }
  if (bits >> 63 != 0) {
    negative = !negative;
    quadrant = 0 - quadrant;
  }
  // The fraction's leading 53 and next 53 binary digits.
  int shifted = 0;
  while (w2 == 0 && shifted < 128) {
    w2 = w1;
    w1 = w0;
    w0 = 0;
    shifted += 64;
  }
  const int zeros = std::countl_zero(w2);
  const Wide top = zeros == 0 ? Wide{w2} << 64 | w1
                              : (Wide{w2} << 64 | w1) << zeros | w0 >> (64 - zeros);
  shifted += zeros;
  // The first digit of w2 stood for 2^1; the last of the 128 in `top` stands for this much.
  const double unit = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - 126 - shifted) << 52);
  const double head = static_cast<double>(static_cast<std::uint64_t>(top >> 75)) * 0x1p75 * unit;
  const double tail =
      static_cast<double>(static_cast<std::uint64_t>(top >> 22) & 0x1fffffffffffff) * 0x1p22 * unit;
  const double high = head * math::kPio2A64;
  const double rest = fma(head, math::kPio2A64, -high) + (head * math::kPio2B64 + tail * math::kPio2A64);
  const double sum = high + rest, left = (high - sum) + rest;
  return {negative ? -sum : sum, negative ? -left : left, static_cast<std::int64_t>(quadrant & 3)};
}

}  // namespace lockstep
