// Elementary functions: equal bytes on every instruction set, and accuracy within NUMERICS A8.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "lockstep/base/nh128.h"
#include "lockstep/base/philox.h"

namespace lockstep::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64};

using Exact = long double (*)(long double);
long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
struct Function {
  std::string_view name;
  Exact exact;
  double low, high;          // where ordinary arguments are drawn
  double bound32, bound64;   // ULP
};
const Function kFunctions[] = {
    {"exp", [](long double x) { return std::exp(x); }, -100, 90, 1.5, 2},
    {"log", [](long double x) { return std::log(x); }, 0, 20, 1.5, 2},
    {"log1p", [](long double x) { return std::log1p(x); }, -1, 20, 1.5, 2},
    {"expm1", [](long double x) { return std::expm1(x); }, -20, 20, 1.5, 2},
    {"sqrt", [](long double x) { return std::sqrt(x); }, 0, 100, 0.501, 0.501},
    {"sin", [](long double x) { return std::sin(x); }, -100, 100, 1.5, 2},
    {"cos", [](long double x) { return std::cos(x); }, -100, 100, 1.5, 2},
    {"erf", [](long double x) { return std::erf(x); }, -6, 6, 1.5, 2},
    {"tanh", [](long double x) { return std::tanh(x); }, -10, 10, 1.5, 2},
    {"sigmoid", &sigmoid, -100, 100, 1.5, 2},
};

/// Random bit patterns: every exponent is as likely as any other.
template <class T, class Word>
void fill_with_patterns(T* x, std::int64_t n, std::uint32_t seed) {
  PhiloxStream stream({seed, 9}, {});
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t high = stream.next();
    const Word word = static_cast<Word>(high << 32 | stream.next());
    std::memcpy(x + i, &word, sizeof word);
  }
}

template <class T, class Word>
void check_accuracy(const Function& f, DType type, double bound) {
  constexpr std::int64_t kCount = 20000;
  for (const bool ordinary : {true, false}) {
    std::vector<Held> in = {Held(Shape{kCount}, type)}, out = {Held(Shape{kCount}, type)};
    if (ordinary) {
      fill_with_ordinary(in[0], 3, f.low, f.high);
    } else {
      fill_with_patterns<T, Word>(in[0].as<T>(), kCount, 5);
    }
    run_kernel(f.name, type, in, out);
    double worst = 0;
    T where = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const T x = in[0].as<T>()[i];
      const double error = ulps(out[0].as<T>()[i], f.exact(x));
      if (error > worst) {
        worst = error;
        where = x;
      }
    }
    CHECK_MESSAGE(worst <= bound, std::string(f.name) << " of " << std::string(text(type)) << " is " << worst
                                                      << " ULP off at " << where);
  }
}

TEST_CASE("elementary functions give equal bytes on every instruction set") {
  for (const DType type : kFloats) {
    for (const Function& f : kFunctions) check_elementwise(f.name, type, 1, type);
  }
}

TEST_CASE("elementary functions are as accurate as promised") {
  for (const Function& f : kFunctions) {
    CAPTURE(f.name);
    check_accuracy<float, std::uint32_t>(f, DType::f32, f.bound32);
    check_accuracy<double, std::uint64_t>(f, DType::f64, f.bound64);
  }
}

TEST_CASE("sine and cosine far outside the range of their tree") {
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    for (const float x : {3e6F, -1e10F, 3e38F, 0x1p21F, 0x1.000002p21F}) {
      std::vector<Held> in = {Held(Shape{9}, DType::f32)}, out = in;
      std::fill_n(in[0].as<float>(), 9, 0.5F);
      in[0].as<float>()[4] = in[0].as<float>()[8] = x;
      run_kernel("sin", DType::f32, in, out);
      CHECK(ulps(out[0].as<float>()[4], std::sin(static_cast<long double>(x))) <= 1.5);
      CHECK(out[0].as<float>()[8] == out[0].as<float>()[4]);
      CHECK(ulps(out[0].as<float>()[3], std::sin(0.5L)) <= 1.5);
    }
  }
  use_isa(best_isa());
}

}  // namespace

TEST_SUITE("nightly") {
  // Every float through every function: one digest of the 2^32 results, equal on all instruction sets.
  TEST_CASE("digests over all floats") {
    constexpr std::int64_t kPart = 1 << 20;
    std::vector<Held> in = {Held(Shape{kPart}, DType::f32)}, out = in;
    const auto digest_of = [&](std::string_view name, Isa isa) {
      use_isa(isa);
      Nh128 digest;
      for (std::int64_t first = 0; first < (std::int64_t{1} << 32); first += kPart) {
        auto* words = in[0].as<std::uint32_t>();
        for (std::int64_t i = 0; i < kPart; ++i) words[i] = static_cast<std::uint32_t>(first + i);
        run_kernel(name, DType::f32, in, out);
        auto* results = out[0].as<std::uint32_t>();
        for (std::int64_t i = 0; i < kPart; ++i) {
          if ((results[i] & 0x7FFFFFFFU) > 0x7F800000U) results[i] = 0x7FC00000U;
        }
        digest += nh128_words({results, static_cast<std::size_t>(kPart)}, static_cast<std::uint64_t>(first));
      }
      return digest;
    };
    for (const std::string_view name :
         {"exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "erf", "tanh", "sigmoid", "gelu"}) {
      const Nh128 expected = digest_of(name, Isa::scalar);
      MESSAGE(std::string(name) << ": " << expected.a << ", " << expected.b);
      for (const Isa isa : isas_here()) {
        if (isa == Isa::scalar) continue;
        CHECK_MESSAGE(digest_of(name, isa) == expected, std::string(name) << " differs on " << std::string(text(isa)));
      }
    }
    use_isa(best_isa());
  }
}

}  // namespace lockstep::test
