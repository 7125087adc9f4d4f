// Comparisons and where.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <limits>

namespace lockstep::test {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};

TEST_CASE("comparisons give equal bytes on every instruction set") {
  for (const DType type : kTypes) {
    for (const std::string_view op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      check_elementwise(op, type, 2, DType::boolean);
    }
  }
}

TEST_CASE("comparisons with NaN are false, except ne") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Held> in = {Held(Shape{3}, DType::f64), Held(Shape{3}, DType::f64)};
  const double a[] = {nan, 1, 0.0};
  const double b[] = {nan, 2, -0.0};
  std::ranges::copy(a, in[0].as<double>());
  std::ranges::copy(b, in[1].as<double>());
  const auto run = [&](std::string_view op) {
    std::vector<Held> out = {Held(Shape{3}, DType::boolean)};
    run_kernel(op, DType::f64, in, out);
    const auto* y = out[0].as<std::uint8_t>();
    return y[0] * 100 + y[1] * 10 + y[2];
  };
  CHECK(run("eq") == 1);
  CHECK(run("ne") == 110);
  CHECK(run("lt") == 10);
  CHECK(run("le") == 11);
  CHECK(run("gt") == 0);
  CHECK(run("ge") == 1);
}

TEST_CASE("where picks by condition, for every element size and any strides") {
  for (const DType type : kTypes) {
    for (const std::int64_t n : kSizes) {
      std::vector<Held> in = {Held(Shape{n}, DType::boolean), Held(Shape{n}, type), Held(Shape{n}, type)};
      for (std::size_t i = 0; i < 3; ++i) fill_with_everything(in[i], 20 + i);
      const std::vector<Held> got = check_every_isa("where", DType::boolean, in, {Held(Shape{n}, type)});
      const auto y = canonical_bytes(got[0]), a = canonical_bytes(in[1]), b = canonical_bytes(in[2]);
      const std::size_t size = size_of(type);
      bool right = true;
      for (std::int64_t i = 0; i < n * static_cast<std::int64_t>(size); ++i) {
        const auto at = static_cast<std::size_t>(i);
        right = right && y[at] == (in[0].as<std::uint8_t>()[at / size] != 0 ? a[at] : b[at]);
      }
      CHECK(right);
    }
    const Shape shape{70, 30};
    std::vector<Held> in = {Held(shape, DType::boolean, {0, 1}), Held(shape, type, {1, 70}), Held(shape, type, {0, 0})};
    for (std::size_t i = 0; i < 3; ++i) fill_with_everything(in[i], 30 + i);
    check_every_isa("where", DType::boolean, in, {Held(shape, type)});
  }
}

}  // namespace
}  // namespace lockstep::test
