// NH-128 in the baseline's instructions, quick enough for records of a few hundred bytes.
#include "lockstep/base/nh128.h"

#include "lockstep/base/cpu.h"
#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockstep {

namespace {

constexpr PhiloxKey kNhKey{0x4c536e68, 0x31323821};  // "LSnh", "128!"

std::array<NhKeys, kNhBlockPairs> make_table() {
  std::array<NhKeys, kNhBlockPairs> table;
  for (std::size_t i = 0; i < kNhBlockPairs; ++i) table[i] = philox(kNhKey, {static_cast<std::uint32_t>(i), 0, 0, 0});
  return table;
}

// Adds `pairs` pairs that lie within one block.
#if defined(__x86_64__)
// The baseline's 16-byte registers hold a pair's four factors: x0 x1 x0 x1 plus its keys; one multiplication of the
// even words by the odd ones gives both sums' products.
void add_pairs(const std::byte* data, const NhKeys* keys, const NhKeys& block, std::size_t pairs, Nh128& sum) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i extra = load(block.data());
  __m128i total = _mm_setzero_si128();
  for (std::size_t p = 0; p < pairs; ++p, data += 8) {
    const __m128i x = _mm_loadl_epi64(static_cast<const __m128i*>(static_cast<const void*>(data)));
    const __m128i key = _mm_add_epi32(load(keys[p].data()), extra);
    const __m128i factors = _mm_add_epi32(_mm_unpacklo_epi64(x, x), key);
    total = _mm_add_epi64(total, _mm_mul_epu32(factors, _mm_srli_epi64(factors, 32)));
  }
  std::uint64_t parts[2];
  std::memcpy(parts, &total, sizeof parts);
  sum += Nh128{parts[0], parts[1]};
}

// The same with two pairs a register, twice; returns how many pairs it did.
[[gnu::target("avx2")]] std::size_t add_pairs_avx2(const std::byte* data, const NhKeys* keys, const NhKeys& block, std::size_t pairs,
                                                   Nh128& sum) {
  const __m256i extra = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block.data())));
  __m256i left = _mm256_setzero_si256(), right = left;
  std::size_t p = 0;
  for (; p + 4 <= pairs; p += 4) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + 8 * p));
    const __m256i k0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + p));
    const __m256i k1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + p + 2));
    const __m256i f0 = _mm256_add_epi32(_mm256_permute4x64_epi64(x, 0x50), _mm256_add_epi32(k0, extra));
    const __m256i f1 = _mm256_add_epi32(_mm256_permute4x64_epi64(x, 0xfa), _mm256_add_epi32(k1, extra));
    left = _mm256_add_epi64(left, _mm256_mul_epu32(f0, _mm256_srli_epi64(f0, 32)));
    right = _mm256_add_epi64(right, _mm256_mul_epu32(f1, _mm256_srli_epi64(f1, 32)));
  }
  left = _mm256_add_epi64(left, right);
  std::uint64_t parts[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), left);
  sum += Nh128{parts[0] + parts[2], parts[1] + parts[3]};
  return p;
}
#else
void add_pairs(const std::byte* data, const NhKeys* keys, const NhKeys& block, std::size_t pairs, Nh128& sum) {
  for (std::size_t p = 0; p < pairs; ++p, data += 8) {
    std::uint32_t x[2];
    std::memcpy(x, data, 8);
    const NhKeys& k = keys[p];
    sum.a += std::uint64_t{x[0] + (k[0] + block[0])} * (x[1] + (k[1] + block[1]));
    sum.b += std::uint64_t{x[0] + (k[2] + block[2])} * (x[1] + (k[3] + block[3]));
  }
}
#endif

}  // namespace

const std::array<NhKeys, kNhBlockPairs>& nh128_table() {
  static const std::array<NhKeys, kNhBlockPairs> table = make_table();
  return table;
}

NhKeys nh128_block_key(std::uint64_t j) {
  return philox(kNhKey, {static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(j >> 32), 0, 1});
}

Nh128 nh128(std::span<const std::byte> bytes, std::uint64_t first) {
  if (first % 2 != 0) failf(Category::internal, "NH-128 records start at even word positions; this one at {}", first);
  const auto& table = nh128_table();
  [[maybe_unused]] static const bool wide = supported(Isa::avx2);
  Nh128 sum;
  std::uint64_t pair = first / 2;
  const std::byte* data = bytes.data();
  std::size_t whole = bytes.size() / 8;
  const std::size_t tail = bytes.size() % 8;
  NhKeys block = nh128_block_key(pair / kNhBlockPairs);
  const auto add = [&](const std::byte* from, std::size_t count) {
    while (count > 0) {
      const std::size_t at = pair % kNhBlockPairs, now = std::min(count, kNhBlockPairs - at);
      std::size_t done = 0;
#if defined(__x86_64__)
      if (wide) done = add_pairs_avx2(from, &table[at], block, now, sum);
#endif
      add_pairs(from + 8 * done, &table[at] + done, block, now - done, sum);
      from += 8 * now;
      count -= now;
      pair += now;
      if (pair % kNhBlockPairs == 0) block = nh128_block_key(pair / kNhBlockPairs);
    }
  };
  add(data, whole);
  if (tail != 0) {
    std::byte last[8] = {};
    std::memcpy(last, data + 8 * whole, tail);
    add(last, 1);
  }
  return sum;
}

Nh128 nh128_words(std::span<const std::uint32_t> words, std::uint64_t first) {
  return nh128(std::as_bytes(words), first);
}

}  // namespace lockstep
