// Matrix products: equal bytes on every instruction set and thread count, and the chunked chains of A3 by hand.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "lockstep/base/math.h"
#include "print.h"

namespace lockstep::test {
namespace {

enum class Layout { rows, columns, gaps, repeated };

Held matrix(std::int64_t rows, std::int64_t columns, DType type, Layout layout, std::uint64_t seed) {
  Strides strides{};
  switch (layout) {
    case Layout::rows: strides[0] = columns, strides[1] = 1; break;
    case Layout::columns: strides[0] = 1, strides[1] = rows; break;
    case Layout::gaps: strides[0] = 2 * columns + 3, strides[1] = 2; break;
    case Layout::repeated: strides[0] = 0, strides[1] = 1; break;
  }
  Held held(Shape{rows, columns}, type, strides);
  fill_with_ordinary(held, seed, -2, 2);
  return held;
}

/// A3 from its text, with no code of the kernels.
template <class T>
T product(const Held& a, const Held& b, std::int64_t i, std::int64_t j) {
  const std::int64_t k = a.array.shape[1], n = (k + 639) / 640;
  const std::int64_t chunk = n == 0 ? 1 : 8 * ((k + 8 * n - 1) / (8 * n));
  T out = 0;
  for (std::int64_t begin = 0; begin < k; begin += chunk) {
    T partial = 0;
    for (std::int64_t q = begin; q < std::min(k, begin + chunk); ++q) {
      partial = fma(a.array.as<T>()[i * a.array.strides[0] + q * a.array.strides[1]],
                    b.array.as<T>()[q * b.array.strides[0] + j * b.array.strides[1]], partial);
    }
    out = out + partial;
  }
  return out;
}

template <class T>
void check_product(std::int64_t m, std::int64_t k, std::int64_t n, Layout left, Layout right, std::int64_t samples) {
  const DType type = sizeof(T) == 4 ? DType::f32 : DType::f64;
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  CAPTURE(static_cast<int>(left));
  CAPTURE(static_cast<int>(right));
  const std::vector<Held> in = {matrix(m, k, type, left, 1), matrix(k, n, type, right, 2)};
  const std::vector<Held> got = check_every_isa("matmul", type, in, {Held(Shape{m, n}, type)});
  bool equal = true;
  const std::int64_t all = m * n;
  for (std::int64_t s = 0; s < std::min(samples, all); ++s) {
    const std::int64_t at = samples >= all ? s : s * 7919 % all;
    const T expected = product<T>(in[0], in[1], at / n, at % n);
    equal = equal && std::memcmp(&expected, got[0].array.as<T>() + at, sizeof(T)) == 0;
  }
  CHECK(equal);
}

constexpr Layout kLayouts[] = {Layout::rows, Layout::columns, Layout::gaps};

TEST_CASE("matmul: odd, empty and short shapes in every layout") {
  constexpr std::array<std::int64_t, 3> kShapes[] = {
      {1, 1, 1},   {2, 3, 2},   {5, 7, 3},   {6, 8, 16},  {7, 9, 17},  {13, 16, 33}, {12, 1, 40}, {1, 50, 70}, {70, 50, 1}, {3, 40, 100},
      {100, 40, 3}, {0, 4, 5},  {4, 0, 5},   {4, 5, 0},   {0, 0, 0},   {33, 64, 10}, {64, 128, 10}, {10, 64, 128}, {97, 31, 257}};
  for (const auto& [m, k, n] : kShapes) {
    for (const Layout left : kLayouts) {
      for (const Layout right : kLayouts) {
        check_product<float>(m, k, n, left, right, 40);
        if (m * n * k < 20000) check_product<double>(m, k, n, left, right, 40);
      }
    }
  }
}

TEST_CASE("matmul: chunks of K at their borders") {
  for (const std::int64_t k : {639, 640, 641, 1279, 1280, 1281, 4608}) {
    for (const auto& [left, right] : {std::pair{Layout::rows, Layout::rows}, std::pair{Layout::rows, Layout::columns},
                                      std::pair{Layout::columns, Layout::rows}, std::pair{Layout::columns, Layout::columns}}) {
      check_product<float>(7, k, 19, left, right, 30);
      check_product<double>(7, k, 19, left, right, 10);
    }
  }
}

TEST_CASE("matmul: products that are split over threads, turned and packed") {
  check_product<float>(300, 700, 150, Layout::rows, Layout::rows, 50);
  check_product<float>(300, 130, 300, Layout::columns, Layout::rows, 50);
  check_product<float>(130, 130, 700, Layout::rows, Layout::columns, 50);
  check_product<float>(700, 130, 64, Layout::rows, Layout::columns, 50);
  check_product<float>(150, 200, 270, Layout::columns, Layout::columns, 50);
  check_product<float>(150, 200, 270, Layout::gaps, Layout::gaps, 50);
  check_product<float>(200, 300, 20, Layout::repeated, Layout::repeated, 50);
  check_product<double>(150, 200, 130, Layout::rows, Layout::columns, 50);
}

TEST_CASE("matmul: a sum that cancels to zero is +0, and NaN reaches only its row and column") {
  std::vector<Held> in = {Held(Shape{2, 2}, DType::f32), Held(Shape{2, 2}, DType::f32)};
  const float a[] = {-0.0F, 0, 1, -1}, b[] = {1, std::numeric_limits<float>::quiet_NaN(), 1, 2};
  std::ranges::copy(a, in[0].as<float>());
  std::ranges::copy(b, in[1].as<float>());
  for (const Isa isa : isas_here()) {
    use_isa(isa);
    std::vector<Held> out = {Held(Shape{2, 2}, DType::f32)};
    run_kernel("matmul", DType::f32, in, out);
    const float* y = out[0].as<float>();
    CHECK((y[0] == 0 && !std::signbit(y[0])));
    CHECK((y[2] == 0 && !std::signbit(y[2])));
    CHECK(std::isnan(y[1]));
    CHECK(std::isnan(y[3]));
  }
  use_isa(best_isa());
}

TEST_CASE("linear: product, then one add of the bias; leading axes in any layout") {
  struct Case {
    Shape x;
    Strides strides;
    std::int64_t out;
  };
  const Case cases[] = {
      {Shape{7}, {1}, 5},           {Shape{3, 7}, {7, 1}, 5},      {Shape{0, 7}, {7, 1}, 5},  {Shape{3, 0}, {0, 1}, 4},
      {Shape{2, 3, 70}, {210, 70, 1}, 33}, {Shape{2, 3, 70}, {70, 140, 1}, 33}, {Shape{4, 5, 3, 9}, {3, 12, 60, 300}, 17},
      {Shape{64, 784}, {784, 1}, 128}, {Shape{64, 128}, {128, 1}, 10}, {Shape{130, 650}, {1, 130}, 200}, {Shape{1, 300}, {300, 1}, 40}};
  for (const DType type : {DType::f32, DType::f64}) {
    for (const Case& c : cases) {
      for (const int bias : {0, 1, 2}) {   // absent, contiguous, strided
        const std::int64_t k = c.x[c.x.rank() - 1];
        if (type == DType::f64 && c.x.numel() * c.out > 100000) continue;
        CAPTURE(text(c.x));
        CAPTURE(bias);
        std::vector<Held> in(3);
        in[0] = Held(c.x, type, c.strides);
        in[1] = Held(Shape{c.out, k}, type);
        if (bias > 0) in[2] = Held(Shape{c.out}, type, Strides{bias});
        for (std::size_t i = 0; i < (bias > 0 ? 3U : 2U); ++i) fill_with_ordinary(in[i], i + 1, -2, 2);
        Shape out = c.x;
        out[c.x.rank() - 1] = c.out;
        const std::vector<Held> got = check_every_isa("linear", type, in, {Held(out, type)});
        if (type != DType::f32 || c.x.rank() != 2 || c.x[0] == 0) continue;
        Held turned = in[1];   // [k, out] over the same memory
        turned.array.shape = Shape{k, c.out};
        std::swap(turned.array.strides[0], turned.array.strides[1]);
        bool equal = true;
        for (std::int64_t s = 0; s < 20; ++s) {
          const std::int64_t i = s % c.x[0], j = s * 3 % c.out;
          float expected = product<float>(in[0], turned, i, j);
          if (bias > 0) expected = expected + in[2].as<float>()[j * bias];
          equal = equal && got[0].array.as<float>()[i * c.out + j] == expected;
        }
        CHECK(equal);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
