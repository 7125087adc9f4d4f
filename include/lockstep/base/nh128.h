// NH-128: the order-free digest for bulk data (NUMERICS, Hash).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep {

// Data is a sequence of 32-bit little-endian words x_0, x_1, ... at word positions counted from 0 in the batch or
// in the name-sorted state. Words are taken in pairs; pair p = (x_2p, x_2p+1) contributes, modulo 2^64,
//   a += (x_2p + k0(p)) * (x_2p+1 + k1(p))      b += (x_2p + k2(p)) * (x_2p+1 + k3(p))
// where + inside a factor is modulo 2^32 and * is the full 64-bit product. The keys of pair p = 1024 j + i are
//   kc(p) = philox(kNhKey, {i, 0, 0, 0})[c] + philox(kNhKey, {j mod 2^32, j / 2^32, 0, 1})[c]   modulo 2^32.
// A record whose size is no multiple of 8 bytes is padded with zero bytes to whole pairs and occupies them, so
// records start at even positions. Sums commute: parts may be digested anywhere, in any order, and added.
// It detects accidents, not adversaries: the keys are public.
struct Nh128 {
  std::uint64_t a = 0, b = 0;

  constexpr Nh128& operator+=(const Nh128& other) {
    a += other.a;
    b += other.b;
    return *this;
  }
  friend constexpr Nh128 operator+(Nh128 x, const Nh128& y) { return x += y; }
  friend constexpr bool operator==(const Nh128&, const Nh128&) = default;
};

// Pairs that share one block key j.
inline constexpr std::size_t kNhBlockPairs = 1024;
using NhKeys = std::array<std::uint32_t, 4>;

// The table philox(kNhKey, {i, 0, 0, 0}), kNhBlockPairs rows; computed once.
const std::array<NhKeys, kNhBlockPairs>& nh128_table();
// The block key philox(kNhKey, {j mod 2^32, j / 2^32, 0, 1}).
NhKeys nh128_block_key(std::uint64_t j);

// Words that a record of so many bytes occupies: 2 * ceil(bytes / 8).
constexpr std::uint64_t nh128_extent(std::uint64_t bytes) { return (bytes + 7) / 8 * 2; }

// The contribution of a record at word position `first`, which must be even (Error{internal} otherwise).
Nh128 nh128(std::span<const std::byte> bytes, std::uint64_t first);
Nh128 nh128_words(std::span<const std::uint32_t> words, std::uint64_t first);

}  // namespace lockstep
