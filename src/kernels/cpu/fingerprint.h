// Plain data of the NH-128 kernel and its loop over single pairs.
#pragma once

#include <cstdint>

namespace lockstep {

/// Keys of one block: row p of `a` holds k0 | k1 << 32, of `b` k2 | k3 << 32; the block's own keys likewise.
struct NhRows {
  const std::uint64_t* a;
  const std::uint64_t* b;
  std::uint64_t block_a, block_b;
};
struct NhSums {
  std::uint64_t a = 0, b = 0;
};

/// (low + key low) * (high + key high) of one pair; sums modulo 2^32, the product whole.
[[gnu::always_inline]] inline std::uint64_t nh_term(std::uint32_t low, std::uint32_t high, std::uint64_t key, std::uint64_t block) {
  const std::uint32_t x = low + static_cast<std::uint32_t>(key) + static_cast<std::uint32_t>(block);
  const std::uint32_t y = high + static_cast<std::uint32_t>(key >> 32) + static_cast<std::uint32_t>(block >> 32);
  return std::uint64_t{x} * y;
}

/// Pairs [from, pairs) one by one; `data` is where pair 0 lies, at row `at`.
[[gnu::always_inline]] inline void nh_tail(const std::uint8_t* data, std::int64_t from, std::int64_t pairs, const NhRows& keys,
                                           std::int64_t at, NhSums* sums) {
  for (std::int64_t p = from; p < pairs; ++p) {
    std::uint32_t x[2];
    __builtin_memcpy(x, data + 8 * p, 8);
    sums->a += nh_term(x[0], x[1], keys.a[at + p], keys.block_a);
    sums->b += nh_term(x[0], x[1], keys.b[at + p], keys.block_b);
  }
}

}  // namespace lockstep
