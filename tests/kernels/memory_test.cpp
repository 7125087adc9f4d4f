// Casts, copies between any layouts, fills and padding.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace lockstep::test {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};

template <class To, class From>
std::vector<To> cast(DType from, DType to, std::initializer_list<From> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  std::vector<Held> in = {Held(shape, from)}, out = {Held(shape, to)};
  std::copy(values.begin(), values.end(), in[0].as<From>());
  run_kernel("cast", from, in, out, {to});
  return {out[0].as<To>(), out[0].as<To>() + shape[0]};
}

TEST_CASE("cast: floats to integers truncate, saturate, and turn NaN into 0") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(cast<std::int32_t, float>(DType::f32, DType::i32, {1.9F, -1.9F, nan, inf, -inf, 3e9F, -3e9F, 0x1p31F, -0x1p31F}) ==
        std::vector<std::int32_t>{1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN});
  CHECK(cast<std::int64_t, double>(DType::f64, DType::i64, {1e300, -1e300, 0x1p63, 0x1.fffffffffffffp62, 0.5}) ==
        std::vector<std::int64_t>{INT64_MAX, INT64_MIN, INT64_MAX, 0x7FFFFFFFFFFFFC00, 0});
  CHECK(cast<std::uint8_t, float>(DType::f32, DType::u8, {-1, -0.5F, 255.9F, 256, 300, nan}) ==
        std::vector<std::uint8_t>{0, 0, 255, 255, 255, 0});
}

TEST_CASE("cast: to and from bool, between integers and floats") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(cast<std::uint8_t, float>(DType::f32, DType::boolean, {0.0F, -0.0F, nan, 0.1F, -7}) ==
        std::vector<std::uint8_t>{0, 0, 1, 1, 1});
  CHECK(cast<float, std::uint8_t>(DType::boolean, DType::f32, {0, 1}) == std::vector<float>{0, 1});
  CHECK(cast<std::uint8_t, std::int64_t>(DType::i64, DType::boolean, {0, 256, -1}) == std::vector<std::uint8_t>{0, 1, 1});
  CHECK(cast<std::uint8_t, std::int64_t>(DType::i64, DType::u8, {257, -1}) == std::vector<std::uint8_t>{1, 255});
  CHECK(cast<float, double>(DType::f64, DType::f32, {0.1, 1e300, 1e-46}) == std::vector<float>{0.1F, HUGE_VALF, 0});
  CHECK(cast<double, float>(DType::f32, DType::f64, {0.1F}) == std::vector<double>{static_cast<double>(0.1F)});
}

TEST_CASE("every cast runs on any layout and thread count with one answer") {
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      Held x(Shape{301, 300}, from, {1, 301});
      fill_with_everything(x, 3, 1000);
      check_every_isa("cast", from, {x}, {Held(Shape{301, 300}, to)}, {to});
    }
  }
}

/// The elements of `held` laid out row by row.
Held dense(const Held& held) {
  Held out(held.array.shape, held.array.dtype);
  const auto bytes = [&] {
    std::vector<std::byte> all;
    const std::size_t size = size_of(held.array.dtype);
    for (std::int64_t i = 0; i < held.array.numel(); ++i) {
      std::int64_t rest = i, offset = 0;
      for (std::size_t k = held.array.shape.rank(); k-- > 0;) {
        offset += rest % held.array.shape[k] * held.array.strides[k];
        rest /= held.array.shape[k];
      }
      const auto* at = static_cast<const std::byte*>(held.array.data) + static_cast<std::size_t>(offset) * size;
      all.insert(all.end(), at, at + size);
    }
    return all;
  }();
  std::ranges::copy(bytes, out.data.begin());
  return out;
}

TEST_CASE("contiguous copies any layout of any element size") {
  const struct {
    Shape shape;
    Strides strides;
  } cases[] = {
      {Shape{}, {}},
      {Shape{0, 4}, {4, 1}},
      {Shape{1000}, {3}},
      {Shape{100, 70}, {1, 100}},
      {Shape{513, 300}, {1, 513}},
      {Shape{3, 17, 33}, {561, 1, 17}},
      {Shape{3, 17, 33}, {1, 3, 51}},
      {Shape{5, 6, 7}, {0, 7, 1}},
      {Shape{5, 6, 7}, {7, 0, 1}},
      {Shape{40, 50, 60}, {60, 2400, 1}},
      {Shape{2, 3, 4, 5}, {1, 2, 6, 24}},
      {Shape{1, 7, 1, 9}, {500, 1, 400, 7}},
      {Shape{70000}, {0}},
      {Shape{200000}, {1}},
      {Shape{2, 100000}, {100000, 1}},
  };
  for (const DType type : {DType::f32, DType::f64, DType::u8, DType::bf16}) {
    for (const auto& c : cases) {
      CAPTURE(text(c.shape));
      Held x(c.shape, type, c.strides);
      for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<std::byte>(i * 31 + i / 251);
      for (const int threads : {1, 2}) {
        (void)threads;
        std::vector<Held> in = {x}, out = {Held(c.shape, type)};
        run_kernel("contiguous", type, in, out);
        CHECK(out[0].data == dense(x).data);
      }
      // copy_ into the same layout's gaps, from row by row.
      if (std::ranges::find(c.strides.begin(), c.strides.begin() + c.shape.rank(), 0) == c.strides.begin() + c.shape.rank()) {
        std::vector<Held> pair = {Held(c.shape, type, c.strides), dense(x)}, none;
        run_kernel("copy_", type, pair, none);
        CHECK(dense(pair[0]).data == dense(x).data);
      }
    }
  }
}

TEST_CASE("fill writes the value in the output's dtype") {
  for (const DType type : kTypes) {
    for (const std::int64_t n : kSizes) {
      std::vector<Held> in, out = {Held(Shape{n}, type)};
      run_kernel("fill", type, in, out, {Shape{n}, 1.0, type});
      if (n == 0) continue;
      std::vector<Held> one = {Held(Shape{n}, DType::f64)}, expected = {Held(Shape{n}, type)};
      std::fill_n(one[0].as<double>(), n, 1.0);
      run_kernel("cast", DType::f64, one, expected, {type});
      CHECK(out[0].data == expected[0].data);
    }
  }
  std::vector<Held> in, out = {Held(Shape{3}, DType::f32)};
  run_kernel("fill", DType::f32, in, out, {Shape{3}, 0.1, DType::f32});
  CHECK(out[0].as<float>()[2] == 0.1F);
}

TEST_CASE("pad_axis surrounds with zeros") {
  for (const DType type : {DType::f32, DType::i64, DType::u8}) {
    Held x(Shape{3, 4}, type, {1, 3});
    for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<std::byte>(i + 1);
    for (const std::int64_t axis : {0, 1}) {
      Shape shape{3, 4};
      shape[static_cast<std::size_t>(axis)] += 5;
      std::vector<Held> in = {x}, out = {Held(shape, type)};
      for (auto& b : out[0].data) b = std::byte{255};
      run_kernel("pad_axis", type, in, out, {axis, std::int64_t{2}, std::int64_t{3}});
      const std::size_t size = size_of(type);
      const Held source = dense(x);
      for (std::int64_t r = 0; r < shape[0]; ++r) {
        for (std::int64_t k = 0; k < shape[1]; ++k) {
          const std::int64_t from_r = axis == 0 ? r - 2 : r, from_k = axis == 1 ? k - 2 : k;
          const bool inside = from_r >= 0 && from_r < 3 && from_k >= 0 && from_k < 4;
          const std::byte zeros[8] = {};
          const std::byte* expected =
              inside ? source.data.data() + static_cast<std::size_t>(from_r * 4 + from_k) * size : zeros;
          CHECK(std::memcmp(out[0].data.data() + static_cast<std::size_t>(r * shape[1] + k) * size, expected, size) == 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
