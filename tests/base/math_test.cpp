// Tests of base/math.h: accuracy against long double libm, edge cases, equal bits without hardware FMA.
#include "lockstep/base/math.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/math_scalar.h"
#include "lockstep/base/philox.h"
#include "print.h"

using namespace lockstep;

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Distance from the exact value in units of the last place of T at that value.
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) == std::isnan(exact) ? 0 : 1e9;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(got) || std::isinf(rounded)) return got == rounded ? 0 : 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int unit = std::max(exponent - (sizeof(T) == 4 ? 24 : 53), sizeof(T) == 4 ? -149 : -1074);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, unit));
}

// Arguments: half of them uniform in bits, half in value, those within [low, high].
template <class T>
std::vector<T> arguments(double low, double high, std::uint32_t count) {
  std::vector<T> out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PhiloxBlock b = philox({11, 12}, {i, 0, 0, 0});
    const T by_bits = std::bit_cast<T>(static_cast<Bits<T>>(std::uint64_t{b[0]} << 32 | b[1]));
    if (by_bits >= static_cast<T>(low) && by_bits <= static_cast<T>(high)) out.push_back(by_bits);
    out.push_back(static_cast<T>(low + (high - low) * uniform_double(b[2], b[3])));
  }
  return out;
}

template <class T, class F, class G>
double worst(F f, G exact, double low, double high, std::uint32_t count = 60000) {
  double out = 0;
  for (const T x : arguments<T>(low, high, count)) out = std::max(out, ulps(f(x), exact(static_cast<long double>(x))));
  return out;
}

const auto sigmoid = [](long double x) { return 1 / (1 + expl(-x)); };

template <class T>
void check_all(double limit, double exp_range) {
  const auto f = [](auto g) { return [g](T x) { return g(x); }; };
  const double big = std::numeric_limits<T>::max();
  CHECK(worst<T>(f([](T x) { return ls_exp(x); }), expl, -1.1 * exp_range, 1.1 * exp_range) < limit);
  CHECK(worst<T>(f([](T x) { return ls_expm1(x); }), expm1l, -exp_range, exp_range) < limit);
  CHECK(worst<T>(f([](T x) { return ls_expm1(x); }), expm1l, -1, 1) < limit);
  CHECK(worst<T>(f([](T x) { return ls_log(x); }), logl, 0, big) < limit);
  CHECK(worst<T>(f([](T x) { return ls_log(x); }), logl, 0.5, 2) < limit);
  CHECK(worst<T>(f([](T x) { return ls_log1p(x); }), log1pl, -0.999, 5) < limit);
  CHECK(worst<T>(f([](T x) { return ls_log1p(x); }), log1pl, -1e-3, big) < limit);
  CHECK(worst<T>(f([](T x) { return ls_tanh(x); }), tanhl, -20, 20) < limit);
  CHECK(worst<T>(f([](T x) { return ls_tanh(x); }), tanhl, -1.2, 1.2) < limit);
  CHECK(worst<T>(f([](T x) { return ls_sigmoid(x); }), sigmoid, -exp_range, exp_range) < limit);
  CHECK(worst<T>(f([](T x) { return ls_sigmoid(x); }), sigmoid, -9, 9) < limit);
  CHECK(worst<T>(f([](T x) { return ls_erf(x); }), erfl, -7, 7) < limit);
  CHECK(worst<T>(f([](T x) { return ls_erf(x); }), erfl, -1.3, 1.3) < limit);
  CHECK(worst<T>(f([](T x) { return ls_sin(x); }), sinl, -100, 100) < limit);
  CHECK(worst<T>(f([](T x) { return ls_cos(x); }), cosl, -100, 100) < limit);
  CHECK(worst<T>(f([](T x) { return ls_sin(x); }), sinl, -3e6, 3e6) < limit);
  CHECK(worst<T>(f([](T x) { return ls_cos(x); }), cosl, -3e18, 3e18) < limit);  // x87 reduces up to 2^63
}

template <class T>
bool same(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b);
}

}  // namespace

TEST_CASE("f32 functions are within 1.5 ULP") { check_all<float>(1.5, 104); }
TEST_CASE("f64 functions are within 2 ULP") { check_all<double>(2.0, 745); }

TEST_CASE("pow is within 2 ULP in f64 and half a ULP and a bit in f32") {
  double worst64 = 0, worst32 = 0;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    const PhiloxBlock b = philox({13, 14}, {i, 0, 0, 0});
    const double x = std::exp(80 * uniform_double(b[0], b[1]) - 40);
    const double y = (2 * uniform_double(b[2], b[3]) - 1) * 700 / (std::fabs(std::log(x)) + 1e-3);
    worst64 = std::max(worst64, ulps(ls_pow(x, y), powl(x, y)));
    const auto xf = static_cast<float>(x), yf = static_cast<float>(y / 9);
    worst32 = std::max(worst32, ulps(ls_pow(xf, yf), powl(xf, yf)));
  }
  CHECK(worst64 < 1.5);
  CHECK(worst32 < 0.51);
}

TEST_CASE("pow follows IEEE 754 at the edges") {
  const double inf = HUGE_VAL, values[] = {0.0, -0.0,      1.0,           -1.0,     2.0,  -2.0,  inf,    -inf,
                                           3.0, -3.0,      std::nan(""),  0x1p53,   -4.0, 1e300, -1e300, 5e-324,
                                           0.5, 0x1p52 + 1, -0x1p52 - 1, 0x1p53 + 2};
  for (const double x : values) {
    for (const double y : values) {
      CAPTURE(x);
      CAPTURE(y);
      const double got = ls_pow(x, y), expected = std::pow(x, y);
      if (std::isnan(expected)) {
        CHECK(std::isnan(got));
      } else {
        CHECK(ulps(got, expected) <= 1);
        CHECK(std::signbit(got) == std::signbit(expected));
      }
    }
  }
}

TEST_CASE("edges: zeros keep their sign, infinities and NaN pass") {
  const auto edges = [](auto zero) {
    using T = decltype(zero);
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    for (T (*f)(T) : {static_cast<T (*)(T)>(ls_expm1), static_cast<T (*)(T)>(ls_log1p), static_cast<T (*)(T)>(ls_tanh),
                      static_cast<T (*)(T)>(ls_erf), static_cast<T (*)(T)>(ls_sin)}) {
      CHECK(same<T>(f(zero), zero));
      CHECK(same<T>(f(-zero), -zero));
      CHECK(f(std::numeric_limits<T>::denorm_min()) == std::numeric_limits<T>::denorm_min());
      CHECK(std::isnan(f(nan)));
    }
    CHECK(ls_exp(zero) == 1);
    CHECK(ls_exp(-inf) == 0);
    CHECK(ls_exp(inf) == inf);
    CHECK(std::isnan(ls_exp(nan)));
    CHECK(ls_expm1(-inf) == -1);
    CHECK(ls_expm1(inf) == inf);
    CHECK(ls_log(zero) == -inf);
    CHECK(ls_log(-zero) == -inf);
    CHECK(same<T>(ls_log(T{1}), zero));
    CHECK(std::isnan(ls_log(T{-1})));
    CHECK(ls_log(inf) == inf);
    CHECK(ls_log1p(T{-1}) == -inf);
    CHECK(ls_log1p(inf) == inf);
    CHECK(ls_tanh(inf) == 1);
    CHECK(ls_tanh(-inf) == -1);
    CHECK(ls_sigmoid(-inf) == 0);
    CHECK(ls_sigmoid(inf) == 1);
    CHECK(ls_sigmoid(zero) == T{0.5});
    CHECK(ls_erf(-inf) == -1);
    CHECK(ls_cos(zero) == 1);
    CHECK(std::isnan(ls_sin(inf)));
    CHECK(std::isnan(ls_cos(-inf)));
  };
  edges(0.0f);
  edges(0.0);
}

TEST_CASE("the emulated multiply-add is the exact one") {
  std::int64_t wrong = 0;
  const auto differ = [](auto a, auto b) { return !(std::isnan(a) && std::isnan(b)) && !same(a, b); };
  for (std::uint32_t i = 0; i < 300000; ++i) {
    const PhiloxBlock p = philox({15, 0}, {i, 0, 0, 0}), q = philox({15, 0}, {i, 1, 0, 0});
    std::uint64_t u[3] = {std::uint64_t{p[0]} << 32 | p[1], std::uint64_t{p[2]} << 32 | p[3],
                          std::uint64_t{q[0]} << 32 | q[1]};
    // Mostly near exponents; every fifth product is tiny.
    const std::uint64_t base[] = {i % 5 == 0 ? 500u : 980u, i % 5 == 0 ? 500u : 980u, i % 5 == 0 ? 0u : 980u};
    for (int k = 0; i % 3 != 0 && k < 3; ++k) u[k] = (u[k] & 0x800fffffffffffff) | (base[k] + u[k] % 80) << 52;
    const auto a = std::bit_cast<double>(u[0]), b = std::bit_cast<double>(u[1]);
    const auto c = i % 7 == 0 ? -(a * b) : std::bit_cast<double>(u[2]);
    if (differ(fma_emulated(a, b, c), std::fma(a, b, c)) || differ(lockstep::fma(a, b, c), std::fma(a, b, c))) ++wrong;
    const auto x = std::bit_cast<float>(p[0]), y = std::bit_cast<float>(p[1]), z = std::bit_cast<float>(p[2]);
    if (differ(fma_emulated(x, y, z), std::fma(x, y, z)) || differ(lockstep::fma(x, y, z), std::fma(x, y, z))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("trees give the same bits without hardware multiply-add") {
  using O32 = math::Scalar32<math::EmulatedFma>;
  using O64 = math::Scalar64<math::EmulatedFma>;
  namespace tree = math::tree;
  std::int64_t wrong = 0;
  const auto expect = [&](auto a, auto b) { wrong += same(a, b) ? 0 : 1; };
  for (const float x : arguments<float>(-100, 100, 20000)) {
    expect(tree::exp32<O32>(x), ls_exp(x));
    expect(tree::expm1_32<O32>(x), ls_expm1(x));
    expect(tree::log32<O32>(x), ls_log(x));
    expect(tree::log1p32<O32>(x), ls_log1p(x));
    expect(tree::tanh32<O32>(x), ls_tanh(x));
    expect(tree::sigmoid32<O32>(x), ls_sigmoid(x));
    expect(tree::erf32<O32>(x), ls_erf(x));
    expect(tree::sin32<O32>(x), ls_sin(x));
    expect(tree::cos32<O32>(x), ls_cos(x));
  }
  for (const double x : arguments<double>(-100, 100, 3000)) {
    expect(tree::exp64<O64>(x), ls_exp(x));
    expect(tree::expm1_64<O64>(x), ls_expm1(x));
    expect(tree::log64<O64>(x), ls_log(x));
    expect(tree::log1p64<O64>(x), ls_log1p(x));
    expect(tree::tanh64<O64>(x), ls_tanh(x));
    expect(tree::sigmoid64<O64>(x), ls_sigmoid(x));
    expect(tree::erf64<O64>(x), ls_erf(x));
    expect(tree::sin64<O64>(x), ls_sin(x));
    expect(tree::cos64<O64>(x), ls_cos(x));
    expect(tree::pow64<O64>(x < 0 ? -x : x, 1.7), ls_pow(x < 0 ? -x : x, 1.7));
  }
  CHECK(wrong == 0);
}

TEST_CASE("every f32 argument stays within 1.5 ULP" * doctest::test_suite("nightly")) {
  const auto scan = [](auto f, auto exact, double low, double high) {
    double out = 0;
    for (std::uint64_t u = 0; u < std::uint64_t{1} << 32; ++u) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
      if (x >= low && x <= high) out = std::max(out, ulps(f(x), static_cast<long double>(exact(double{x}))));
    }
    return out;
  };
  // The f64 functions are the yardstick here: their error is 2^-29 of an f32 ULP.
  const auto wrap = [](double (*g)(double)) { return [g](double x) { return g(x); }; };
  CHECK(scan([](float x) { return ls_exp(x); }, wrap(ls_exp), -110, 90) < 1.5);
  CHECK(scan([](float x) { return ls_expm1(x); }, wrap(ls_expm1), -110, 90) < 1.5);
  CHECK(scan([](float x) { return ls_log(x); }, wrap(ls_log), 0, 3.5e38) < 1.5);
  CHECK(scan([](float x) { return ls_log1p(x); }, wrap(ls_log1p), -1, 3.5e38) < 1.5);
  CHECK(scan([](float x) { return ls_tanh(x); }, wrap(ls_tanh), -20, 20) < 1.5);
  CHECK(scan([](float x) { return ls_sigmoid(x); }, wrap(ls_sigmoid), -110, 110) < 1.5);
  CHECK(scan([](float x) { return ls_erf(x); }, wrap(ls_erf), -5, 5) < 1.5);
  CHECK(scan([](float x) { return ls_sin(x); }, wrap(ls_sin), -3.5e38, 3.5e38) < 1.5);
  CHECK(scan([](float x) { return ls_cos(x); }, wrap(ls_cos), -3.5e38, 3.5e38) < 1.5);
}
