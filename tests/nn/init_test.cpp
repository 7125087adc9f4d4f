// Initial values: keyed by seed, name and position; PyTorch's distributions.
#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/philox.h"
#include "lockstep/nn/init.h"
#include "lockstep/ops/builtin.h"
#include "print.h"

using namespace lockstep;

namespace {

std::vector<double> made(const Shape& s, Init init, std::uint64_t seed, std::string_view name, DType t = DType::f32) {
  install_builtin_ops();
  Tensor x = Tensor::empty(s, t);
  initialize(x, init, seed, name);
  return x.to_doubles();
}

}  // namespace

TEST_CASE("kaiming_uniform fills U[-1/sqrt(fan_in), 1/sqrt(fan_in)) from one word an element") {
  const auto w = made({3, 7}, Init::kaiming_uniform(), 42, "0.weight");
  const double bound = 1 / std::sqrt(7.0);
  const PhiloxKey key = rng_key(42, "init", "0.weight");
  for (std::size_t e = 0; e < w.size(); ++e) {
    const std::uint32_t word = philox(key, {static_cast<std::uint32_t>(e / 4), 0, 0, 0})[e % 4];
    CHECK(w[e] == static_cast<double>(static_cast<float>((2.0 * (word >> 8) * 0x1p-24 - 1) * bound)));
  }
}

TEST_CASE("uniform values have the mean and variance of the distribution") {
  const auto w = made({100, 400}, Init::kaiming_uniform(), 1, "w");
  double sum = 0, squares = 0;
  for (const double v : w) {
    CHECK_MESSAGE(std::abs(v) <= 0.05, v);
    sum += v;
    squares += v * v;
  }
  CHECK(std::abs(sum / 40000) < 5e-4);
  CHECK(squares / 40000 == doctest::Approx(0.05 * 0.05 / 3).epsilon(0.02));
}

TEST_CASE("a value depends on seed, name and position, and on nothing else") {
  const auto a = made({4, 5}, Init::kaiming_uniform(), 42, "0.weight");
  CHECK(a == made({4, 5}, Init::kaiming_uniform(), 42, "0.weight"));
  CHECK(a != made({4, 5}, Init::kaiming_uniform(), 43, "0.weight"));
  CHECK(a != made({4, 5}, Init::kaiming_uniform(), 42, "1.weight"));
}

TEST_CASE("f64 values are those of f32 before rounding") {
  const auto a = made({9, 5}, Init::kaiming_uniform(), 3, "w"), b = made({9, 5}, Init::kaiming_uniform(), 3, "w", DType::f64);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == static_cast<double>(static_cast<float>(b[i])));
}

TEST_CASE("bias_uniform takes its fan_in from outside; zeros and ones are constant") {
  for (const double v : made({64}, Init::bias_uniform(16), 5, "b")) CHECK(std::abs(v) <= 0.25);
  CHECK(made({3}, Init::zeros(), 5, "b") == std::vector<double>{0, 0, 0});
  CHECK(made({3}, Init::ones(), 5, "b") == std::vector<double>{1, 1, 1});
}

TEST_CASE("normal values have the standard deviation asked for") {
  const auto w = made({50001}, Init::normal(0.02), 9, "e");
  double squares = 0;
  for (const double v : w) squares += v * v;
  CHECK(std::sqrt(squares / 50001) == doctest::Approx(0.02).epsilon(0.02));
}
