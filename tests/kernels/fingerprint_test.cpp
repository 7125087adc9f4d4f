// The NH-128 kernel against base/nh128.h, for every size, type, position, instruction set and thread count.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <span>

#include "lockstep/base/error.h"
#include "lockstep/base/nh128.h"
#include "print.h"

namespace lockstep::test {
namespace {

void check_digest(const Held& x, std::int64_t first) {
  CAPTURE(x.array.numel());
  CAPTURE(first);
  const std::vector<Held> got = check_every_isa("nh128", x.array.dtype, {x}, {Held(Shape{2}, DType::i64)}, {first});
  const auto bytes = static_cast<std::size_t>(x.array.numel()) * size_of(x.array.dtype);
  const Nh128 exact = nh128(std::span(x.data.data(), bytes), static_cast<std::uint64_t>(first));
  CHECK(static_cast<std::uint64_t>(got[0].array.as<std::int64_t>()[0]) == exact.a);
  CHECK(static_cast<std::uint64_t>(got[0].array.as<std::int64_t>()[1]) == exact.b);
}

TEST_CASE("nh128 equals the reference in base") {
  for (const DType type : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 1023, 2047, 2048, 2049, 5000}) {
      Held x(Shape{n}, type);
      for (std::size_t i = 0; i < x.data.size(); ++i) x.data[i] = static_cast<std::byte>(i * 167 + i / 251);
      for (const std::int64_t first : {0, 2, 2046, 2048, 123456}) check_digest(x, first);
    }
  }
}

TEST_CASE("nh128 of arrays that are split over threads") {
  for (const std::int64_t n : {131071, 1000003, 9000001}) {
    Held x(Shape{n}, DType::f32);
    fill_with_ordinary(x, 6, -1, 1);
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1} << 33}) check_digest(x, first);
    check_digest(x, 1000);
  }
}

TEST_CASE("nh128 refuses odd positions") {
  std::vector<Held> in = {Held(Shape{4}, DType::f32)}, out = {Held(Shape{2}, DType::i64)};
  CHECK_THROWS_AS(run_kernel("nh128", DType::f32, in, out, {std::int64_t{3}}), Error);
}

}  // namespace
}  // namespace lockstep::test
