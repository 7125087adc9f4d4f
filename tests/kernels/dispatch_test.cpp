// The choice of the instruction set, both forms of FMA in plain loops, and the chunk lengths of A3.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/family.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tree.h"
#include "lockstep/base/error.h"
#include "print.h"

namespace lockstep::test {
namespace {

TEST_CASE("use_isa takes what the CPU has and names it otherwise") {
  const Isa before = current_isa();
  CHECK(supported(before));
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (supported(isa)) {
      use_isa(isa);
      CHECK(current_isa() == isa);
      continue;
    }
    try {
      use_isa(isa);
      FAIL("a missing instruction set was accepted");
    } catch (const Error& error) {
      CHECK(error.category == Category::resource);
      CHECK(error.message.find(text(isa)) != std::string::npos);
      CHECK(error.message.find("scalar") != std::string::npos);
    }
  }
  use_isa(before);
}

/// y = chain of x[i] * x[i + 1] + y, in T.
template <class T>
struct ChainLoop {
  template <class Fma>
  [[gnu::always_inline]] static void run(const T* x, std::int64_t n, T* y) {
    for (std::int64_t i = 0; i + 1 < n; ++i) y[i + 1] = Fma::mul_add(x[i], x[i + 1], y[i]);
  }
};

template <class T>
void check_chains() {
  if (!has_fma()) return;
  std::vector<T> x, native, exact;
  std::uint64_t state = 7;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const int exponent = static_cast<int>(state >> 40 & 31) - 16;
    x.push_back(static_cast<T>(std::ldexp(static_cast<double>(static_cast<std::int64_t>(state >> 11)) * 0x1p-52 - 1, exponent)));
  }
  native.resize(x.size());
  exact.resize(x.size());
  const auto n = static_cast<std::int64_t>(x.size());
  scalar::with_native_fma<ChainLoop<T>, const T*, std::int64_t, T*>(x.data(), n, native.data());
  scalar::with_exact_fma<ChainLoop<T>, const T*, std::int64_t, T*>(x.data(), n, exact.data());
  CHECK(std::memcmp(native.data(), exact.data(), x.size() * sizeof(T)) == 0);
}

TEST_CASE("plain loops give the same bits with the FMA instruction and without") {
  check_chains<float>();
  check_chains<double>();
}

TEST_CASE("chunks of K: 8 ceil(K / 8n) with n = ceil(K / 640)") {
  for (std::int64_t k = 1; k < 20000; ++k) {
    const std::int64_t n = (k + 639) / 640, chunk = chunk_length(k);
    CHECK_MESSAGE((chunk % 8 == 0 && chunk <= kMaxChunk && chunk * n >= k && chunk * (n - 1) < k), k);
  }
  CHECK(chunk_length(640) == 640);
  CHECK(chunk_length(641) == 328);
  CHECK(chunk_length(4608) == 576);
}

TEST_CASE("the chunk tree pairs neighbours and carries an odd last chunk up") {
  for (int chunks = 1; chunks < 70; ++chunks) {
    std::vector<double> level;
    SumTree<double> tree;
    tree.clear();
    for (int i = 0; i < chunks; ++i) {
      level.push_back(std::ldexp(1.0 + i, i % 7 * 9));
      tree.push(level.back());
    }
    while (level.size() > 1) {
      std::vector<double> up;
      for (std::size_t i = 0; i < level.size(); i += 2) up.push_back(i + 1 < level.size() ? level[i] + level[i + 1] : level[i]);
      level = up;
    }
    CHECK(tree.total() == level[0]);
  }
}

}  // namespace
}  // namespace lockstep::test
