// Keys, normals, bounded integers and permutations from Philox.
#include "lockstep/base/philox.h"

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/math.h"
#include "lockstep/base/sha256.h"

namespace lockstep {

__extension__ using Wide = unsigned __int128;

PhiloxKey rng_key(std::uint64_t seed, std::string_view purpose, std::string_view path) {
  const Digest d =
      Sha256().update("ls-rng-1").update_value(seed).update(purpose).update_value(std::uint8_t{0}).update(path).digest();
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(d[at]) | static_cast<std::uint32_t>(d[at + 1]) << 8 |
           static_cast<std::uint32_t>(d[at + 2]) << 16 | static_cast<std::uint32_t>(d[at + 3]) << 24;
  };
  return {word(0), word(4)};
}

std::array<float, 2> normal_pair(std::uint32_t first, std::uint32_t second) {
  const float u = static_cast<float>(1 + (first >> 8)) * 0x1p-24f;
  const float r = std::sqrt(-2.0f * ls_log(u)), t = 6.2831855f * uniform_float(second);
  return {r * ls_cos(t), r * ls_sin(t)};
}

std::array<double, 2> normal_pair_double(const PhiloxBlock& bits) {
  const double u = uniform_double(bits[0], bits[1]) + 0x1p-53;  // in (0, 1]; exact
  const double r = std::sqrt(-2.0 * ls_log(u)), t = 6.283185307179586 * uniform_double(bits[2], bits[3]);
  return {r * ls_cos(t), r * ls_sin(t)};
}

std::uint32_t PhiloxStream::next() {
  if (used_ == 4) {
    block_ = philox(key_, counter_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t PhiloxStream::below(std::uint64_t n) {
  if (n == 0) fail(Category::internal, "a random integer below 0 does not exist: n must be at least 1");
  if (n <= std::uint64_t{1} << 32) {
    const std::uint64_t reject = (std::uint64_t{1} << 32) % n;
    for (;;) {
      const std::uint64_t product = next() * n;
      if ((product & 0xffffffff) >= reject) return product >> 32;
    }
  }
  const std::uint64_t reject = (0 - n) % n;
  for (;;) {
    const std::uint64_t high = next();
    const Wide product = Wide{high << 32 | next()} * n;
    if (static_cast<std::uint64_t>(product) >= reject) return static_cast<std::uint64_t>(product >> 64);
  }
}

double PhiloxStream::normal() {
  PhiloxBlock bits;
  for (std::uint32_t& word : bits) word = next();
  return normal_pair_double(bits)[0];
}

Permutation::Permutation(PhiloxKey key, std::uint32_t epoch, std::uint64_t n) : n_(n), half_bits_(1) {
  if (n == 0) fail(Category::internal, "a permutation of 0 elements does not exist: n must be at least 1");
  while (half_bits_ < 32 && (n - 1) >> (2 * half_bits_) != 0) ++half_bits_;
  for (std::uint32_t pair = 0; pair < kRounds / 2; ++pair) {
    const PhiloxBlock b = philox(key, {pair, epoch, 0, 0x7065726d});  // 'perm'
    keys_[2 * pair] = std::uint64_t{b[0]} << 32 | b[1];
    keys_[2 * pair + 1] = std::uint64_t{b[2]} << 32 | b[3];
  }
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  if (i >= n_) failf(Category::internal, "position {} is outside a permutation of {} elements", i, n_);
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = i >> half_bits_, right = i & mask;
    for (const std::uint64_t key : keys_) {
      std::uint64_t mixed = (right + key) * 0x9e3779b97f4a7c15;  // odd: every bit of right reaches the top
      mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9;
      const std::uint64_t next = left ^ (mixed >> (64 - half_bits_));
      left = right;
      right = next;
    }
    i = left << half_bits_ | right;
  } while (i >= n_);
  return i;
}

}  // namespace lockstep
