// Optimizer updates: equal bytes on every instruction set, PyTorch's formulas, subnormal moments flushed.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace lockstep::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64};

std::vector<Held> arrays(int count, const Shape& shape, DType type, std::uint64_t seed) {
  std::vector<Held> out;
  for (int i = 0; i < count; ++i) {
    out.emplace_back(shape, type);
    fill_with_everything(out.back(), seed + static_cast<std::uint64_t>(i), 1);
  }
  return out;
}

TEST_CASE("optimizer steps give equal bytes on every instruction set") {
  for (const DType type : kFloats) {
    for (const std::int64_t n : kSizes) {
      const Shape shape{n};
      for (const bool nesterov : {false, true}) {
        for (const bool first : {false, true}) {
          for (const double decay : {0.0, 1e-2}) {
            check_every_isa("sgd_step", type, arrays(3, shape, type, 1), {}, {0.1, 0.9, 0.1, decay, nesterov, first});
          }
        }
      }
      std::vector<Held> plain = arrays(3, shape, type, 5);
      plain[2].array.data = nullptr;
      check_every_isa("sgd_step", type, plain, {}, {0.1, 0.0, 0.0, 1e-2, false, false});
      for (const std::int64_t t : {1, 1000}) {
        check_every_isa("adamw_step", type, arrays(4, shape, type, 9), {}, {1e-3, 0.9, 0.999, 1e-8, 1e-2, t});
      }
      check_every_isa("lerp_", type, arrays(2, shape, type, 13), {}, {0.1});
      check_every_isa("scale_", type, arrays(1, shape, type, 15), {}, {0.1});
    }
    // A parameter that is a transposed view.
    std::vector<Held> views = arrays(4, Shape{300, 301}, type, 21);
    views[0] = Held(Shape{300, 301}, type, {1, 300});
    fill_with_everything(views[0], 22, 1);
    check_every_isa("adamw_step", type, views, {}, {1e-3, 0.9, 0.999, 1e-8, 1e-2, std::int64_t{3}});
  }
}

TEST_CASE("sgd follows PyTorch's formula") {
  constexpr std::int64_t kCount = 40;
  const double lr = 0.1, momentum = 0.9, dampening = 0.2, decay = 0.01;
  for (const bool nesterov : {false, true}) {
    std::vector<Held> in = {Held(Shape{kCount}, DType::f64), Held(Shape{kCount}, DType::f64), Held(Shape{kCount}, DType::f64)};
    std::vector<Held> none;
    fill_with_ordinary(in[0], 1, -1, 1);
    std::vector<double> p(in[0].as<double>(), in[0].as<double>() + kCount), b(kCount);
    for (int step = 0; step < 5; ++step) {
      fill_with_ordinary(in[1], 100 + static_cast<std::uint64_t>(step), -1, 1);
      run_kernel("sgd_step", DType::f64, in, none, {lr, momentum, dampening, decay, nesterov, step == 0});
      for (std::size_t i = 0; i < kCount; ++i) {
        double d = in[1].as<double>()[i] + decay * p[i];
        b[i] = step == 0 ? d : momentum * b[i] + (1 - dampening) * d;
        d = nesterov ? d + momentum * b[i] : b[i];
        p[i] -= lr * d;
        CHECK(std::fabs(in[0].as<double>()[i] - p[i]) < 1e-14);
        CHECK(std::fabs(in[2].as<double>()[i] - b[i]) < 1e-14);
      }
    }
  }
}

TEST_CASE("a momentum buffer that becomes subnormal is zero") {
  std::vector<Held> in, none;
  for (int i = 0; i < 3; ++i) in.emplace_back(Shape{4}, DType::f32);
  const float buffer[] = {0x1p-126F, -0x1p-126F, 0x1p-125F, 0x1p-149F};
  for (int i = 0; i < 4; ++i) {
    in[0].as<float>()[i] = 1;
    in[1].as<float>()[i] = 0;
    in[2].as<float>()[i] = buffer[i];
  }
  run_kernel("sgd_step", DType::f32, in, none, {0.1, 0.75, 0.0, 0.0, false, false});
  CHECK(std::bit_cast<std::uint32_t>(in[2].as<float>()[0]) == 0);
  CHECK(std::bit_cast<std::uint32_t>(in[2].as<float>()[1]) == 0);
  CHECK(in[2].as<float>()[2] == 0x1.8p-126F);
  CHECK(std::bit_cast<std::uint32_t>(in[2].as<float>()[3]) == 0);
}

TEST_CASE("adamw follows PyTorch's formula") {
  constexpr std::size_t kCount = 40;
  const double lr = 1e-2, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.05;
  std::vector<Held> in, none;
  for (int i = 0; i < 4; ++i) in.emplace_back(Shape{kCount}, DType::f64);
  fill_with_ordinary(in[0], 1, -1, 1);
  std::vector<double> p(in[0].as<double>(), in[0].as<double>() + kCount), m(kCount), v(kCount);
  for (std::int64_t t = 1; t <= 20; ++t) {
    fill_with_ordinary(in[1], 100 + static_cast<std::uint64_t>(t), -1, 1);
    run_kernel("adamw_step", DType::f64, in, none, {lr, beta1, beta2, eps, decay, t});
    for (std::size_t i = 0; i < kCount; ++i) {
      const double g = in[1].as<double>()[i];
      p[i] *= 1 - lr * decay;
      m[i] += (1 - beta1) * (g - m[i]);
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      const double time = static_cast<double>(t);
      p[i] -= lr / (1 - std::pow(beta1, time)) * m[i] / (std::sqrt(v[i]) / std::sqrt(1 - std::pow(beta2, time)) + eps);
      CHECK(std::fabs(in[0].as<double>()[i] - p[i]) < 1e-13);
    }
  }
}

TEST_CASE("subnormal moments become zero") {
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    std::vector<Held> in, none;
    for (int i = 0; i < 4; ++i) in.emplace_back(Shape{20}, DType::f32);
    std::fill_n(in[2].as<float>(), 20, -0x1p-127F);
    std::fill_n(in[3].as<float>(), 20, 0x1p-126F);
    run_kernel("adamw_step", DType::f32, in, none, {1e-3, 0.9, 0.999, 1e-8, 0.0, std::int64_t{5}});
    for (int i = 0; i < 20; ++i) {
      CHECK(in[2].as<float>()[i] == 0);
      CHECK(in[3].as<float>()[i] == 0);
      CHECK_FALSE(std::signbit(in[2].as<float>()[i]));
    }
  }
  use_isa(best_isa());
}

}  // namespace
}  // namespace lockstep::test
