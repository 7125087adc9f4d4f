// Activation kernels: equal bytes on every instruction set, edges of relu, accuracy of gelu.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace lockstep::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64};

long double phi(long double x) { return 0.5L * std::erfc(-x / std::numbers::sqrt2_v<long double>); }
long double density(long double x) { return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<long double> / std::numbers::sqrt2_v<long double>; }

TEST_CASE("activations give equal bytes on every instruction set") {
  for (const DType type : kFloats) {
    for (const std::string_view op : {"relu", "tanh", "sigmoid", "gelu"}) check_elementwise(op, type, 1, type);
    for (const std::string_view op : {"relu_backward", "gelu_backward"}) check_elementwise(op, type, 2, type);
  }
}

TEST_CASE("relu and its derivative at zeros and NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const float x[] = {0.0F, -0.0F, 1, -1, nan, inf, -inf, 0x1p-149F, -0x1p-149F};
  const float relu[] = {0, 0, 1, 0, nan, inf, 0, 0x1p-149F, 0};
  const float slope[] = {0, 0, 2, 0, 2, 2, 0, 2, 0};
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    std::vector<Held> in = {Held(Shape{9}, DType::f32)}, out = in, gradient = in;
    std::ranges::copy(x, in[0].as<float>());
    run_kernel("relu", DType::f32, in, out);
    std::vector<Held> both = {Held(Shape{9}, DType::f32), in[0]};
    std::fill_n(both[0].as<float>(), 9, 2.0F);
    run_kernel("relu_backward", DType::f32, both, gradient);
    for (std::size_t i = 0; i < 9; ++i) {
      CAPTURE(i);
      const float y = out[0].as<float>()[i];
      CHECK((std::isnan(relu[i]) ? std::isnan(y) : y == relu[i]));
      CHECK_FALSE(std::signbit(y == 0 ? y : 0.0F));
      CHECK(gradient[0].as<float>()[i] == slope[i]);
      CHECK_FALSE(std::signbit(gradient[0].as<float>()[i]));
    }
  }
  use_isa(best_isa());
}

TEST_CASE("gelu: Phi within 1.5e-7 in f32, to the last bits in f64") {
  constexpr std::int64_t kCount = 200000;
  std::vector<Held> in = {Held(Shape{kCount}, DType::f32)}, out = in;
  fill_with_ordinary(in[0], 11, -7, 7);
  run_kernel("gelu", DType::f32, in, out);
  std::vector<Held> backward = {Held(Shape{kCount}, DType::f32), in[0]}, slope = out;
  std::fill_n(backward[0].as<float>(), kCount, 1.0F);
  run_kernel("gelu_backward", DType::f32, backward, slope);
  double worst = 0, worst_slope = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const long double x = in[0].as<float>()[i];
    const double exact = static_cast<double>(x * phi(x));
    const double error = std::fabs(out[0].as<float>()[i] - exact) - std::fabs(exact) * 0x1p-24;
    worst = std::max(worst, error / std::fabs(static_cast<double>(x)));
    worst_slope = std::max(worst_slope, std::fabs(slope[0].as<float>()[i] - static_cast<double>(phi(x) + x * density(x))));
  }
  MESSAGE("worst errors: Phi " << worst << ", slope " << worst_slope);
  CHECK(worst <= 1.5e-7);
  CHECK(worst_slope <= 4e-7);

  std::vector<Held> wide = {Held(Shape{kCount}, DType::f64)}, wide_out = wide;
  fill_with_ordinary(wide[0], 12, -7, 7);
  run_kernel("gelu", DType::f64, wide, wide_out);
  double worst64 = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const long double x = wide[0].as<double>()[i];
    worst64 = std::max(worst64, std::fabs(wide_out[0].as<double>()[i] - static_cast<double>(x * phi(x))));
  }
  CHECK(worst64 <= 2e-15);
}

}  // namespace
}  // namespace lockstep::test
