// Dropout: the words of Philox at their counters, on every instruction set and for any layout.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/philox.h"

namespace lockstep::test {
namespace {

constexpr RngKey kKey{0x0123456789ABCDEFULL, 17, 3, 0x02000005};

TEST_CASE("dropout gives equal bytes on every instruction set") {
  for (const DType type : {DType::f32, DType::f64}) {
    for (const double p : {0.0, 0.1, 0.5, 1.0}) check_elementwise("dropout", type, 1, type, {p, kKey});
  }
}

TEST_CASE("dropout follows its definition word by word") {
  constexpr std::int64_t kCount = 70001;
  std::vector<Held> in = {Held(Shape{kCount}, DType::f32)}, out = in;
  fill_with_ordinary(in[0], 1, 1, 2);
  const double p = 0.3;
  run_kernel("dropout", DType::f32, in, out, {p, kKey});
  std::int64_t kept = 0;
  bool right = true;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const PhiloxBlock words = philox({0x89ABCDEF, 0x01234567}, {static_cast<std::uint32_t>(i / 4), 17, 3, 0x02000005});
    const float u = uniform_float(words[static_cast<std::size_t>(i % 4)]);
    const float x = in[0].as<float>()[i];
    const float y = out[0].as<float>()[i];
    const bool keep = u >= static_cast<float>(p);
    kept += keep ? 1 : 0;
    right = right && (keep ? y == x * static_cast<float>(1 / (1 - p)) : y == 0 && !std::signbit(y));
  }
  CHECK(right);
  CHECK(std::fabs(static_cast<double>(kept) / kCount - 0.7) < 0.01);
}

TEST_CASE("dropout of an infinity that falls is zero") {
  std::vector<Held> in = {Held(Shape{64}, DType::f32)}, out = in;
  std::fill_n(in[0].as<float>(), 64, HUGE_VALF);
  run_kernel("dropout", DType::f32, in, out, {1.0, kKey});
  for (int i = 0; i < 64; ++i) CHECK(out[0].as<float>()[i] == 0);
}

}  // namespace
}  // namespace lockstep::test
