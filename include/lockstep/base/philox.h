// Random numbers: Philox4x32-10 keyed by what they are for (NUMERICS R1 to R5). No generator has state.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep {

struct PhiloxKey {
  std::uint32_t lo = 0, hi = 0;
  friend constexpr bool operator==(const PhiloxKey&, const PhiloxKey&) = default;
};

// Four words: a counter going in, random bits coming out. Counters are
// {element block, step or epoch, shard or sample, phase << 24 | draw}.
using PhiloxBlock = std::array<std::uint32_t, 4>;

// Philox4x32 with ten rounds (Salmon et al., SC11).
constexpr PhiloxBlock philox(PhiloxKey key, PhiloxBlock c) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0], p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key.lo, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key.hi, static_cast<std::uint32_t>(p0)};
    key.lo += 0x9E3779B9u;
    key.hi += 0xBB67AE85u;
  }
  return c;
}

// The key for one purpose: the first 8 bytes (two little-endian words) of
// sha256("ls-rng-1" | u64 seed | purpose | 0 | path). Compute it once, not per draw.
PhiloxKey rng_key(std::uint64_t seed, std::string_view purpose, std::string_view path);

// Uniform in [0, 1): the 24 high bits times 2^-24.
constexpr float uniform_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
// Uniform in [0, 1): the 53 high bits of first * 2^32 + second, times 2^-53.
constexpr double uniform_double(std::uint32_t first, std::uint32_t second) {
  return static_cast<double>((std::uint64_t{first} << 32 | second) >> 11) * 0x1p-53;
}

// Two independent standard normals from two words, by Box-Muller in f32:
//   u = (1 + (first >> 8)) * 2^-24, r = sqrt(-2 * ls_log(u)), t = 6.2831855f * uniform_float(second),
//   {r * ls_cos(t), r * ls_sin(t)}. |value| <= 5.77.
std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second);
// The same in f64 from a block: u from the first two words with 53 bits, the angle from the last two.
std::array<double, 2> normal_pair_double(const PhiloxBlock& bits);

// The words of successive blocks: element block counts up from the given counter's.
class PhiloxStream {
 public:
  PhiloxStream(PhiloxKey key, PhiloxBlock counter) : key_(key), counter_(counter) {}
  std::uint32_t next();
  double uniform() {
    const std::uint32_t first = next();
    return uniform_double(first, next());
  }
  // Uniform in [0, n), n >= 1, exactly unbiased. Rule: for n <= 2^32 the product x * n of one word, redrawn while its
  // low half is below 2^32 mod n; the high half is the result. For larger n the same with two words (first word high)
  // and a 128-bit product.
  std::uint64_t below(std::uint64_t n);
  // normal_pair_double of the next four words, first element.
  double normal();

 private:
  PhiloxKey key_;
  PhiloxBlock counter_, block_{};
  int used_ = 4;
};

// A keyed bijection of [0, n): position to sample in O(1), nothing stored (R3). An alternating Feistel network of six
// rounds over the smallest even number of bits that holds n, walked until the value falls below n; round keys from
// philox(key, {round / 2, epoch, 0, 'perm'}).
class Permutation {
 public:
  // n >= 1.
  Permutation(PhiloxKey key, std::uint32_t epoch, std::uint64_t n);
  // 0 <= i < n.
  std::uint64_t operator()(std::uint64_t i) const;
  std::uint64_t size() const { return n_; }

 private:
  static constexpr int kRounds = 6;
  std::array<std::uint64_t, kRounds> keys_;
  std::uint64_t n_;
  int half_bits_;
};

}  // namespace lockstep
