// Tests of base/philox.h and base/sha256.h.
#include "lockstep/base/philox.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/sha256.h"
#include "print.h"

using namespace lockstep;

TEST_CASE("sha256 of the published vectors") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 running;
  running.update("ab");
  const Sha256 prefix = running;
  CHECK(running.update("c").digest() == sha256("abc"));
  CHECK(prefix.digest() == sha256("ab"));
  CHECK(Sha256().update_value(std::uint32_t{0x64636261}).digest() == sha256("abcd"));
}

TEST_CASE("Philox of the published vectors") {
  // Random123's kat_vectors, philox4x32 with 10 rounds.
  CHECK(philox({0, 0}, {0, 0, 0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("keys depend on seed, purpose and path, and are pinned") {
  const PhiloxKey key = rng_key(42, "init", "layers.0.weight");
  const Digest d = sha256(std::string("ls-rng-1") + std::string("\x2a\0\0\0\0\0\0\0", 8) + "init" +
                          std::string(1, '\0') + "layers.0.weight");
  std::uint32_t words[2];  // little-endian, as this machine is
  std::memcpy(words, d.data(), sizeof words);
  CHECK(key == PhiloxKey{words[0], words[1]});
  CHECK(key != rng_key(43, "init", "layers.0.weight"));
  CHECK(key != rng_key(42, "initlayers.0", ".weight"));
}

TEST_CASE("uniform numbers") {
  CHECK(uniform_float(0) == 0.0f);
  CHECK(uniform_float(0xffffffff) == 1.0f - 0x1p-24f);
  CHECK(uniform_double(0xffffffff, 0xffffffff) == 1.0 - 0x1p-53);
  PhiloxStream stream({1, 2}, {0, 0, 0, 0});
  std::array<int, 6> counts{};
  for (int i = 0; i < 60000; ++i) ++counts[stream.below(6)];
  for (const int c : counts) CHECK(std::abs(c - 10000) < 500);
  CHECK(stream.below(1) == 0);
  for (int i = 0; i < 100; ++i) CHECK(stream.below((std::uint64_t{1} << 40) + 1) <= std::uint64_t{1} << 40);
  CHECK_THROWS_AS(stream.below(0), Error);
}

TEST_CASE("normal numbers have the right moments") {
  double sum = 0, squares = 0, fourth = 0;
  const int n = 200000;
  for (int i = 0; i < n / 4; ++i) {
    const PhiloxBlock b = philox({7, 8}, {static_cast<std::uint32_t>(i), 0, 0, 0});
    for (const auto& pair : {normal_pair(b[0], b[1]), normal_pair(b[2], b[3])}) {
      for (const double z : pair) {
        sum += z;
        squares += z * z;
        fourth += z * z * z * z;
      }
    }
  }
  CHECK(std::fabs(sum / n) < 0.01);
  CHECK(std::fabs(squares / n - 1) < 0.02);
  CHECK(std::fabs(fourth / n - 3) < 0.15);
  CHECK(std::isfinite(normal_pair(0, 0)[0]));
  CHECK(normal_pair(0xffffffff, 0)[0] == 0.0f);
  CHECK(std::fabs(normal_pair_double({0x80000000, 0, 0, 0})[0] - std::sqrt(2 * std::log(2.0))) < 1e-14);
}

TEST_CASE("permutations are bijections") {
  const PhiloxKey key = rng_key(1, "shuffle", "");
  std::vector<int> seen;
  std::int64_t wrong = 0;
  for (std::uint64_t n = 1; n <= 4096; ++n) {
    const Permutation p(key, static_cast<std::uint32_t>(n % 5), n);
    seen.assign(n, 0);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t at = p(i);
      if (at >= n || seen[at]++ != 0) ++wrong;
    }
  }
  CHECK(wrong == 0);
  for (const std::uint64_t n : {1000003u, 1048576u, 1048577u}) {
    const Permutation p(key, 3, n);
    std::vector<bool> hit(n);
    for (std::uint64_t i = 0; i < n; ++i) hit[p(i)] = true;
    CHECK(std::count(hit.begin(), hit.end(), true) == static_cast<std::int64_t>(n));
  }
  const Permutation huge(key, 0, std::uint64_t{1} << 63);
  CHECK(huge(5) != huge(6));
  CHECK_THROWS_AS(Permutation(key, 0, 10)(10), Error);
  CHECK_THROWS_AS(Permutation(key, 0, 0), Error);
}

TEST_CASE("permutations look random: fixed points, neighbours, epochs") {
  const PhiloxKey key = rng_key(1, "shuffle", "");
  const std::uint64_t n = 60000;
  std::int64_t fixed = 0, adjacent = 0, repeated = 0;
  double product = 0;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    const Permutation p(key, epoch, n), next(key, epoch + 1, n);
    std::uint64_t before = p(n - 1);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t at = p(i);
      fixed += at == i ? 1 : 0;
      adjacent += at == before + 1 ? 1 : 0;
      repeated += at == next(i) ? 1 : 0;
      product += (static_cast<double>(i) / n - 0.5) * (static_cast<double>(at) / n - 0.5);
      before = at;
    }
  }
  CHECK(fixed < 60);  // 20 expected
  CHECK(adjacent < 60);
  CHECK(repeated < 60);
  CHECK(std::fabs(product / (20.0 * n)) < 0.0005);
}
