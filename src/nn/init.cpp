// Initial values: one Philox word an element, so that a value depends on (seed, name, position) alone.
#include "lockstep/nn/init.h"

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"

namespace lockstep {
namespace {

/// Values of elements 4b to 4b + 3.
std::array<double, 4> block_values(Init init, PhiloxKey key, std::uint64_t b, double bound) {
  if (init.kind == Init::Kind::zeros) return {0, 0, 0, 0};
  if (init.kind == Init::Kind::ones) return {1, 1, 1, 1};
  const PhiloxBlock bits = philox(key, {static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32), 0, 0});
  std::array<double, 4> out{};
  if (init.kind == Init::Kind::normal) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const std::array<float, 2> pair = normal_pair(bits[i], bits[i + 1]);
      out[i] = init.value * static_cast<double>(pair[0]);
      out[i + 1] = init.value * static_cast<double>(pair[1]);
    }
    return out;
  }
  for (std::size_t i = 0; i < 4; ++i) out[i] = (2.0 * static_cast<double>(uniform_float(bits[i])) - 1.0) * bound;
  return out;
}

template <class T>
void fill(std::span<T> to, Init init, PhiloxKey key, double bound) {
  for (std::size_t e = 0; e < to.size(); e += 4) {
    const std::array<double, 4> v = block_values(init, key, e / 4, bound);
    for (std::size_t i = 0; i < 4 && e + i < to.size(); ++i) to[e + i] = static_cast<T>(v[i]);
  }
}

}  // namespace

void initialize(Tensor& t, Init init, std::uint64_t seed, std::string_view canonical_name) {
  double fan_in = init.value;
  if (init.kind == Init::Kind::kaiming_uniform) {
    fan_in = 1;
    for (std::size_t a = 1; a < t.rank(); ++a) fan_in *= static_cast<double>(t.shape()[a]);
  }
  const double bound = fan_in > 0 ? 1.0 / std::sqrt(fan_in) : 0.0;
  const PhiloxKey key = rng_key(seed, "init", canonical_name);
  if (t.dtype() == DType::f32) return fill(t.values<float>(), init, key, bound);
  if (t.dtype() == DType::f64) return fill(t.values<double>(), init, key, bound);
  failf(Category::internal, "parameter '{}' has dtype {}; parameters are float32 or float64", canonical_name, text(t.dtype()));
}

}  // namespace lockstep
