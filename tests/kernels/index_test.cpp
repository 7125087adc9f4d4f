// Rows by index.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"

namespace lockstep::test {
namespace {

Held indices(std::int64_t n, std::int64_t extent, std::int64_t stride = 1) {
  Held out(Shape{n}, DType::i64, {stride});
  PhiloxStream stream({5, 5}, {});
  for (std::int64_t i = 0; i < n; ++i) {
    out.as<std::int64_t>()[i * stride] = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(extent)));
  }
  return out;
}

TEST_CASE("index_select and index_add agree with their definitions on any axis and layout") {
  const Shape shape{6, 40, 30};
  const Strides layouts[] = {{1200, 30, 1}, {1, 6, 240}};
  for (const Strides& layout : layouts) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CAPTURE(axis);
      Held x(shape, DType::f32, layout);
      fill_with_ordinary(x, 1, -1, 1);
      const std::int64_t rows = 97;
      const Held index = indices(rows, shape[axis], 2);
      Shape picked = shape;
      picked[axis] = rows;
      const Attrs attrs{static_cast<std::int64_t>(axis)};
      std::vector<Held> got = check_every_isa("index_select", DType::f32, {x, index}, {Held(picked, DType::f32)}, attrs);
      Held source(picked, DType::f32);
      if (layout[0] == 1) source = Held(picked, DType::f32, {1, picked[0], picked[0] * picked[1]});
      fill_with_ordinary(source, 2, -1, 1);
      std::vector<Held> sum = check_every_isa("index_add", DType::f32, {x, index, source}, {Held(shape, DType::f32)}, attrs);

      const auto at = [](const Held& h, std::int64_t i, std::int64_t j, std::int64_t k) -> float& {
        return h.array.as<float>()[i * h.array.strides[0] + j * h.array.strides[1] + k * h.array.strides[2]];
      };
      std::vector<Held> expected = {x};
      bool right = true;
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = index.array.as<std::int64_t>()[r * 2];
        for (std::int64_t i = 0; i < (axis == 0 ? 1 : shape[0]); ++i) {
          for (std::int64_t j = 0; j < (axis == 1 ? 1 : shape[1]); ++j) {
            for (std::int64_t k = 0; k < (axis == 2 ? 1 : shape[2]); ++k) {
              const std::int64_t to[] = {axis == 0 ? row : i, axis == 1 ? row : j, axis == 2 ? row : k};
              const std::int64_t from[] = {axis == 0 ? r : i, axis == 1 ? r : j, axis == 2 ? r : k};
              right = right && at(got[0], from[0], from[1], from[2]) == at(x, to[0], to[1], to[2]);
              at(expected[0], to[0], to[1], to[2]) += at(source, from[0], from[1], from[2]);
            }
          }
        }
      }
      CHECK(right);
      CHECK(canonical_bytes(sum[0]) == canonical_bytes(expected[0]));
    }
  }
}

TEST_CASE("an index out of range is a data error, before anything is written") {
  std::vector<Held> in = {Held(Shape{3, 2}, DType::f32), indices(4, 3)}, out = {Held(Shape{4, 2}, DType::f32)};
  in[1].as<std::int64_t>()[2] = 3;
  const auto expect = [&](std::string_view op) {
    try {
      run_kernel(op, DType::f32, in, out, {std::int64_t{0}});
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.category == Category::data);
      CHECK(e.message.find(std::string(op) + ": index[2] is 3, but the axis has 3 entries") == 0);
    }
  };
  expect("index_select");
  in.emplace_back(Shape{4, 2}, DType::f32);
  expect("index_add");
  in[1].as<std::int64_t>()[2] = -1;
  try {
    run_kernel("index_select", DType::f32, in, out, {std::int64_t{0}});
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.message.find("index[2] is -1") != std::string::npos);
  }
}

TEST_CASE("one_hot: a row for every index, all zero out of range") {
  for (const DType type : {DType::f32, DType::f64, DType::i64, DType::u8}) {
    std::vector<Held> in = {indices(100, 6)}, out = {Held(Shape{100, 5}, type)};
    in[0].as<std::int64_t>()[3] = -1;
    run_kernel("one_hot", DType::i64, in, out, {std::int64_t{5}, type});
    std::vector<Held> wide = {Held(Shape{100, 5}, DType::f64)};
    run_kernel("cast", type, out, wide, {DType::f64});
    for (std::int64_t i = 0; i < 100; ++i) {
      for (std::int64_t k = 0; k < 5; ++k) {
        CHECK(wide[0].as<double>()[i * 5 + k] == (in[0].as<std::int64_t>()[i] == k ? 1.0 : 0.0));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
