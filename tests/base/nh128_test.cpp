// Tests of base/nh128.h.
#include "lockstep/base/nh128.h"

#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"
#include "print.h"

using namespace lockstep;

namespace {

std::vector<std::byte> some_bytes(std::size_t n, std::uint32_t seed) {
  std::vector<std::byte> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::byte>(philox({seed, 0}, {static_cast<std::uint32_t>(i), 0, 0, 0})[0]);
  }
  return out;
}

// The definition in the header, word by word.
Nh128 by_definition(std::span<const std::byte> bytes, std::uint64_t first) {
  std::vector<std::uint32_t> words(nh128_extent(bytes.size()));
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  Nh128 sum;
  for (std::size_t w = 0; w < words.size(); w += 2) {
    const std::uint64_t p = (first + w) / 2;
    NhKeys k = nh128_table()[p % kNhBlockPairs];
    const NhKeys block = nh128_block_key(p / kNhBlockPairs);
    for (std::size_t c = 0; c < 4; ++c) k[c] += block[c];
    sum.a += std::uint64_t{words[w] + k[0]} * (words[w + 1] + k[1]);
    sum.b += std::uint64_t{words[w] + k[2]} * (words[w + 1] + k[3]);
  }
  return sum;
}

}  // namespace

TEST_CASE("NH-128 is its definition, for every length and across blocks") {
  for (std::size_t n = 0; n < 40; ++n) {
    const auto bytes = some_bytes(n, 1);
    CHECK(nh128(bytes, 6) == by_definition(bytes, 6));
  }
  const auto bytes = some_bytes(30001, 2);
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{2046}, std::uint64_t{2048}, std::uint64_t{1} << 45}) {
    CHECK(nh128(bytes, first) == by_definition(bytes, first));
  }
}

TEST_CASE("parts add up in any order") {
  const auto bytes = some_bytes(8000, 3);
  const std::span<const std::byte> all(bytes);
  const Nh128 tail = nh128(all.subspan(2400), 600), head = nh128(all.first(2400), 0);
  CHECK(tail + head == nh128(all, 0));
}

TEST_CASE("changes are seen: bits, order, position") {
  auto bytes = some_bytes(256, 4);
  const Nh128 before = nh128(bytes, 0);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    CHECK_FALSE(nh128(bytes, 0) == before);
    bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
  }
  CHECK_FALSE(nh128(bytes, 2) == before);
  CHECK_FALSE(nh128(bytes, 2 * kNhBlockPairs) == before);
  std::swap_ranges(bytes.begin(), bytes.begin() + 4, bytes.begin() + 4);
  CHECK_FALSE(nh128(bytes, 0) == before);
  CHECK_THROWS_AS(nh128(bytes, 1), Error);
}

TEST_CASE("the digest is pinned") {
  const std::uint32_t words[] = {1, 2, 3, 4, 5};
  const Nh128 d = nh128_words(words, 0);
  CHECK(nh128_extent(20) == 6);
  CHECK(d == by_definition(std::as_bytes(std::span(words)), 0));
  CHECK(nh128_table()[0] == philox({0x4c536e68, 0x31323821}, {0, 0, 0, 0}));
  CHECK(nh128_block_key(0) == philox({0x4c536e68, 0x31323821}, {0, 0, 0, 1}));
}
