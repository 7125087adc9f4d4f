// Softmax and cross entropy: equal bytes on every instruction set and thread count, values against long double.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "print.h"

namespace lockstep::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr std::int64_t kIgnored = -100;

TEST_CASE("softmax and log_softmax: equal bytes for every row length and layout") {
  for (const DType type : kFloats) {
    for (const std::string_view op : {"softmax", "log_softmax"}) {
      for (const std::int64_t n : {1, 2, 10, 15, 16, 17, 31, 100, 4096, 4097, 9001}) {
        CAPTURE(n);
        Held x(Shape{3, n}, type);
        fill_with_ordinary(x, 1, -20, 20);
        check_every_isa(op, type, {x}, {Held(Shape{3, n}, type)});
        fill_with_everything(x, 2);
        check_every_isa(op, type, {x}, {Held(Shape{3, n}, type)});
      }
      for (const Shape& s : {Shape{0, 4}, Shape{4, 0}, Shape{7}, Shape{2, 3, 50}, Shape{3000, 10}}) {
        Held x(s, type);
        fill_with_ordinary(x, 3, -5, 5);
        check_every_isa(op, type, {x}, {Held(s, type)});
      }
      Held turned(Shape{40, 30}, type, {1, 40}), gaps(Shape{4, 5, 30}, type, {61, 244, 2});
      fill_with_ordinary(turned, 4, -5, 5);
      fill_with_ordinary(gaps, 4, -5, 5);
      check_every_isa(op, type, {turned}, {Held(Shape{40, 30}, type)});
      check_every_isa(op, type, {gaps}, {Held(Shape{4, 5, 30}, type)});
    }
  }
}

TEST_CASE("softmax and log_softmax: values") {
  Held x(Shape{50, 37}, DType::f32);
  fill_with_ordinary(x, 5, -30, 30);
  std::vector<Held> in = {x}, soft = {x}, log = {x};
  run_kernel("softmax", DType::f32, in, soft);
  run_kernel("log_softmax", DType::f32, in, log);
  for (std::int64_t r = 0; r < 50; ++r) {
    long double sum = 0, most = -1000;
    for (std::int64_t j = 0; j < 37; ++j) most = std::max(most, static_cast<long double>(x.as<float>()[r * 37 + j]));
    for (std::int64_t j = 0; j < 37; ++j) sum += std::exp(x.as<float>()[r * 37 + j] - most);
    for (std::int64_t j = 0; j < 37; ++j) {
      const long double exact = x.as<float>()[r * 37 + j] - most - std::log(sum);
      CHECK(std::abs(static_cast<double>(log[0].as<float>()[r * 37 + j] - exact)) < 4e-6);
      const double ratio = soft[0].as<float>()[r * 37 + j] / static_cast<double>(std::exp(exact));
      CHECK(std::abs(ratio - 1) < 3e-6);   // x - m is rounded: half a unit in the last place of 60
    }
  }
  const float inf = std::numeric_limits<float>::infinity();
  const auto row = [&](std::vector<float> v) {
    Held held(Shape{static_cast<std::int64_t>(v.size())}, DType::f32);
    std::ranges::copy(v, held.as<float>());
    std::vector<Held> from = {held}, to = {held};
    run_kernel("softmax", DType::f32, from, to);
    return std::vector<float>(to[0].as<float>(), to[0].as<float>() + v.size());
  };
  CHECK(row({1e30F, -1e30F, -inf}) == std::vector<float>{1, 0, 0});
  CHECK(row({88, 88}) == std::vector<float>{0.5F, 0.5F});
  CHECK(std::isnan(row({0, std::numeric_limits<float>::quiet_NaN(), 0})[0]));
}

struct Batch {
  std::vector<Held> in;   // logits, target, weight?
};
Batch batch(std::int64_t n, std::int64_t classes, DType type, bool weight, bool strided) {
  Batch b;
  b.in.resize(3);
  b.in[0] = strided ? Held(Shape{n, classes}, type, {2, 2 * n}) : Held(Shape{n, classes}, type);
  b.in[1] = strided ? Held(Shape{n}, DType::i64, {3}) : Held(Shape{n}, DType::i64);
  fill_with_ordinary(b.in[0], 7, -8, 8);
  for (std::int64_t r = 0; r < n; ++r) {
    b.in[1].as<std::int64_t>()[r * b.in[1].array.strides[0]] = r % 5 == 3 ? kIgnored : (r % 11 == 10 ? classes + r : r * 7 % classes);
  }
  if (weight) {
    b.in[2] = strided ? Held(Shape{classes}, type, {2}) : Held(Shape{classes}, type);
    fill_with_ordinary(b.in[2], 8, 0.1, 2);
  }
  return b;
}

TEST_CASE("cross_entropy and its derivative: equal bytes everywhere") {
  for (const DType type : kFloats) {
    for (const std::int64_t classes : {1, 2, 10, 16, 33, 5000}) {
      for (const std::int64_t n : {0, 1, 13, 700}) {
        if (classes == 5000 && n == 700) continue;
        for (const bool weight : {false, true}) {
          for (const bool strided : {false, true}) {
            for (const double smoothing : {0.0, 0.1}) {
              CAPTURE(classes);
              CAPTURE(n);
              CAPTURE(weight);
              CAPTURE(strided);
              CAPTURE(smoothing);
              Batch b = batch(n, classes, type, weight, strided);
              const Attrs attrs = {smoothing, kIgnored};
              check_every_isa("cross_entropy", type, b.in, {Held(Shape{n}, type)}, attrs);
              b.in.push_back(strided ? Held(Shape{n}, type, {0}) : Held(Shape{n}, type));
              fill_with_ordinary(b.in[3], 9, 0.1, 1);
              check_every_isa("cross_entropy_backward", type, b.in, {Held(Shape{n, classes}, type)}, attrs);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("cross_entropy: values, ignored rows and impossible targets") {
  for (const double smoothing : {0.0, 0.25}) {
    const Batch b = batch(23, 12, DType::f64, true, false);
    std::vector<Held> in = b.in, loss = {Held(Shape{23}, DType::f64)}, slope = {Held(Shape{23, 12}, DType::f64)};
    run_kernel("cross_entropy", DType::f64, in, loss, {smoothing, kIgnored});
    in.push_back(Held(Shape{23}, DType::f64));
    fill_with_ordinary(in[3], 3, 0.5, 2);
    run_kernel("cross_entropy_backward", DType::f64, in, slope, {smoothing, kIgnored});
    for (std::int64_t r = 0; r < 23; ++r) {
      const double* x = in[0].as<double>() + r * 12;
      const double* w = in[2].as<double>();
      const std::int64_t t = in[1].as<std::int64_t>()[r];
      const double got = loss[0].as<double>()[r], *d = slope[0].as<double>() + r * 12, g = in[3].as<double>()[r];
      if (t == kIgnored) {
        CHECK((got == 0 && !std::signbit(got)));
        for (int j = 0; j < 12; ++j) CHECK((d[j] == 0 && !std::signbit(d[j])));
        continue;
      }
      if (t >= 12) {
        CHECK(std::isnan(got));
        CHECK(std::isnan(d[5]));
        continue;
      }
      double sum = 0, all = 0, weights = 0;
      for (int j = 0; j < 12; ++j) sum += std::exp(x[j]);
      for (int j = 0; j < 12; ++j) all += w[j] * (std::log(sum) - x[j]), weights += w[j];
      const double exact = (1 - smoothing) * w[t] * (std::log(sum) - x[t]) + smoothing / 12 * all;
      CHECK(std::abs(got - exact) < 1e-12 * (1 + std::abs(exact)));
      for (int j = 0; j < 12; ++j) {
        const double p = std::exp(x[j]) / sum;
        const double rate = g * ((1 - smoothing) * w[t] * (p - (j == t)) + smoothing / 12 * (p * weights - w[j]));
        CHECK(std::abs(d[j] - rate) < 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
