// Reductions: equal bytes on every instruction set and thread count; the order of A4 by hand; NaN, zeros and ties.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "print.h"

namespace lockstep::test {
namespace {

/// A4 from its text, level by level.
template <class T, class From>
T in_order(const std::vector<From>& x) {
  std::vector<T> level;
  for (std::size_t begin = 0; begin < x.size(); begin += 4096) {
    T lane[16] = {};
    for (std::size_t i = begin; i < std::min(x.size(), begin + 4096); ++i) lane[i % 16] = lane[i % 16] + static_cast<T>(x[i]);
    for (const std::size_t half : {8U, 4U, 2U, 1U})
      for (std::size_t l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
    level.push_back(lane[0]);
  }
  while (level.size() > 1) {
    std::vector<T> up;
    for (std::size_t i = 0; i < level.size(); i += 2) up.push_back(i + 1 < level.size() ? level[i] + level[i + 1] : level[i]);
    level = up;
  }
  return level.empty() ? T{0} : level[0];
}

struct Case {
  Shape shape;
  Strides strides;
  Shape axes;
};
std::vector<Case> cases() {
  std::vector<Case> out;
  const auto dense = [&](const Shape& s, const Shape& axes) { out.push_back({s, contiguous_strides(s), axes}); };
  for (const std::int64_t n : {1, 5, 15, 16, 17, 100, 4095, 4096, 4097, 20000}) {
    dense({n}, {0});
    dense({3, n}, {1});
    dense({n, 3}, {0});
    dense({n, 5}, {0});
    dense({n, 37}, {0});
  }
  dense({}, {});
  dense({0}, {0});
  dense({3, 0}, {1});
  dense({0, 3}, {1});
  dense({0, 3}, {0});
  dense({64, 128}, {0});
  dense({3, 9000}, {1});
  dense({9000, 300}, {0});
  dense({300001}, {0});
  dense({600, 700}, {0, 1});
  dense({5, 6, 7}, {1});
  dense({5, 6, 7}, {0, 2});
  dense({5, 6, 7}, {0, 1});
  dense({8, 5, 100, 9}, {0, 2, 3});
  out.push_back({{50, 40}, {1, 50}, {0}});        // turned
  out.push_back({{50, 40}, {1, 50}, {1}});
  out.push_back({{50, 40}, {81, 2}, {0, 1}});     // gaps
  out.push_back({{50, 40}, {0, 1}, {0}});         // repeated
  out.push_back({{50, 40}, {1, 0}, {1}});
  out.push_back({{20, 300, 3}, {3, 60, 1}, {1}});
  out.push_back({{9000, 2}, {2, 1}, {0, 1}});
  out.push_back({{90, 100, 2}, {2, 180, 1}, {0, 1, 2}});
  return out;
}
Shape kept(const Case& c) {
  Shape out;
  for (std::size_t i = 0, next = 0; i < c.shape.rank(); ++i) {
    if (next < c.axes.rank() && c.axes[next] == static_cast<std::int64_t>(i)) ++next;
    else out.push_back(c.shape[i]);
  }
  return out;
}

TEST_CASE("sum: equal bytes everywhere, in the order of A4") {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const Case& c : cases()) {
      CAPTURE(text(c.shape));
      CAPTURE(text(c.axes));
      Held x(c.shape, type, c.strides);
      fill_with_ordinary(x, 3, -1, 3);
      const std::vector<Held> got = check_every_isa("sum", type, {x}, {Held(kept(c), type)}, {c.axes, false});
      if (type != DType::f32 || kept(c).numel() != 1) continue;
      std::vector<float> row;   // everything, row-major
      for (std::int64_t i = 0; i < c.shape.numel(); ++i) {
        std::int64_t rest = i, at = 0;
        for (std::size_t a = c.shape.rank(); a-- > 0; rest /= c.shape[a]) at += rest % c.shape[a] * c.strides[a];
        row.push_back(x.as<float>()[at]);
      }
      CHECK(got[0].array.as<float>()[0] == in_order<float>(row));
      const std::vector<Held> total = check_every_isa("total", type, {x}, {Held(Shape{}, DType::f64)});
      CHECK(total[0].array.as<double>()[0] == in_order<double>(row));
    }
  }
}

TEST_CASE("sum: columns are summed like rows") {
  for (const std::int64_t n : {3, 40, 4097, 30000}) {
    Held x(Shape{n, 21}, DType::f32);
    fill_with_ordinary(x, 5, -3, 4);
    std::vector<Held> in = {x}, out = {Held(Shape{21}, DType::f32)};
    run_kernel("sum", DType::f32, in, out, {Shape{0}, false});
    for (const std::int64_t column : {0, 7, 15, 20}) {
      std::vector<float> row;
      for (std::int64_t i = 0; i < n; ++i) row.push_back(x.as<float>()[i * 21 + column]);
      CHECK(out[0].as<float>()[column] == in_order<float>(row));
    }
  }
}

TEST_CASE("sums of special values and of integers") {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const Shape& s : {Shape{1}, Shape{17}, Shape{5000}}) {
      Held x(s, type);
      fill_with_everything(x, 9);
      check_every_isa("sum", type, {x}, {Held(Shape{}, type)}, {Shape{0}, false});
      check_every_isa("total", type, {x}, {Held(Shape{}, DType::f64)});
    }
  }
  Held zero(Shape{1}, DType::f32);
  zero.as<float>()[0] = -0.0F;
  const std::vector<Held> got = check_every_isa("sum", DType::f32, {zero}, {Held(Shape{}, DType::f32)}, {Shape{0}, false});
  CHECK_FALSE(std::signbit(got[0].array.as<float>()[0]));   // lanes start at +0
  Held whole(Shape{3, 4}, DType::i64);
  for (int i = 0; i < 12; ++i) whole.as<std::int64_t>()[i] = (std::int64_t{1} << 40) * (i - 3);
  const std::vector<Held> rows = check_every_isa("sum", DType::i64, {whole}, {Held(Shape{3}, DType::i64)}, {Shape{1}, false});
  CHECK(rows[0].array.as<std::int64_t>()[0] == (std::int64_t{1} << 40) * -6);
  CHECK(rows[0].array.as<std::int64_t>()[2] == (std::int64_t{1} << 40) * 26);
}

TEST_CASE("amax: NaN wins, +0 is above -0") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const DType type : {DType::f32, DType::f64}) {
    for (const Case& c : cases()) {
      if (c.shape.numel() == 0) continue;
      CAPTURE(text(c.shape));
      Held x(c.shape, type, c.strides);
      fill_with_ordinary(x, 4, -9, -1);
      check_every_isa("amax", type, {x}, {Held(kept(c), type)}, {c.axes, false});
      fill_with_everything(x, 4);
      check_every_isa("amax", type, {x}, {Held(kept(c), type)}, {c.axes, false});
    }
  }
  const auto largest = [&](std::vector<float> v) {
    Held x(Shape{static_cast<std::int64_t>(v.size())}, DType::f32);
    std::ranges::copy(v, x.as<float>());
    return check_every_isa("amax", DType::f32, {x}, {Held(Shape{}, DType::f32)}, {Shape{0}, false})[0].array.as<float>()[0];
  };
  std::vector<float> v(40, -1.0F);
  v[11] = -0.0F;
  CHECK(std::signbit(largest(v)));
  v[37] = 0.0F;
  CHECK_FALSE(std::signbit(largest(v)));
  v[5] = inf;
  CHECK(largest(v) == inf);
  for (const std::size_t at : {0U, 5U, 17U, 39U}) {
    std::vector<float> with = v;
    with[at] = nan;
    CHECK(std::isnan(largest(with)));
  }
  CHECK(largest(std::vector<float>(9, -inf)) == -inf);
}

TEST_CASE("argmax: lowest index of equals, first NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto at = [](std::vector<float> v) {
    Held x(Shape{static_cast<std::int64_t>(v.size())}, DType::f32);
    std::ranges::copy(v, x.as<float>());
    return check_every_isa("argmax", DType::f32, {x}, {Held(Shape{}, DType::i64)}, {std::int64_t{0}, false})[0].array.as<std::int64_t>()[0];
  };
  CHECK(at({3}) == 0);
  CHECK(at({1, 7, 7, 2}) == 1);
  CHECK(at({-0.0F, 0.0F}) == 0);
  CHECK(at({1, nan, 9, nan}) == 1);
  CHECK(at({nan, 9}) == 0);
  Held x(Shape{4, 3, 5}, DType::f64, {1, 20, 4});
  fill_with_ordinary(x, 8, 0, 1);
  const std::vector<Held> got = check_every_isa("argmax", DType::f64, {x}, {Held(Shape{4, 5}, DType::i64)}, {std::int64_t{1}, false});
  for (std::int64_t i = 0; i < 20; ++i) {
    const double* from = x.as<double>() + i / 5 + i % 5 * 4;
    const std::int64_t best = got[0].array.as<std::int64_t>()[i];
    for (std::int64_t j = 0; j < 3; ++j) CHECK(from[best * 20] >= from[j * 20]);
  }
}

}  // namespace
}  // namespace lockstep::test
