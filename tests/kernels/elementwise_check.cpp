// See elementwise_check.h.
#include "kernels/elementwise_check.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "lockstep/base/philox.h"
#include "lockstep/base/pool.h"

namespace lockstep::test {
namespace {

std::size_t reach(const Shape& shape, const Strides& strides) {
  std::int64_t last = 0;
  if (shape.numel() == 0) return 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) last += (shape[i] - 1) * strides[i];
  return static_cast<std::size_t>(last + 1);
}

/// f(pointer to element) for all elements, row-major.
template <class F>
void each(const Held& held, const F& f) {
  const Array& a = held.array;
  if (a.data == nullptr) return;   // an absent input
  const std::size_t size = size_of(a.dtype);
  const std::int64_t n = a.numel();
  const bool dense = a.contiguous();
  for (std::int64_t i = 0; i < n; ++i) {
    if (dense) {
      f(static_cast<std::byte*>(a.data) + static_cast<std::size_t>(i) * size);
      continue;
    }
    std::int64_t rest = i, offset = 0;
    for (std::size_t k = a.shape.rank(); k-- > 0;) {
      offset += rest % a.shape[k] * a.strides[k];
      rest /= a.shape[k];
    }
    f(static_cast<std::byte*>(a.data) + static_cast<std::size_t>(offset) * size);
  }
}

template <class T>
void put(std::byte* at, T value) { std::memcpy(at, &value, sizeof value); }

template <class T>
T floating(PhiloxStream& stream, double scale) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {Limits::quiet_NaN(), Limits::infinity(),   -Limits::infinity(), T{0},          -T{0},
                       Limits::denorm_min(), -Limits::min() / 2,  Limits::min(),       Limits::max(), Limits::lowest(),
                       T{1},                 -T{1}};
  const std::uint64_t kind = stream.below(8);
  if (kind == 0) return special[stream.below(std::size(special))];
  if (kind == 1) return static_cast<T>(std::ldexp(stream.uniform() - 0.5, static_cast<int>(stream.below(60)) - 30));
  return static_cast<T>((2 * stream.uniform() - 1) * scale);
}
template <class T>
T integral(PhiloxStream& stream) {
  const std::uint64_t kind = stream.below(8);
  if (kind == 0) return std::numeric_limits<T>::max();
  if (kind == 1) return std::numeric_limits<T>::min();
  return static_cast<T>(static_cast<std::int64_t>(stream.below(9)) - (std::numeric_limits<T>::is_signed ? 4 : 0));
}

bool equal(const Held& a, const Held& b) { return a.data == b.data || canonical_bytes(a) == canonical_bytes(b); }

/// Values are drawn once and then repeated with this period, which no vector width or block divides.
constexpr std::int64_t kPeriod = 4099;

template <class T, class Draw>
void fill_periodic(Held& held, const Draw& draw) {
  const std::int64_t n = held.array.numel();
  std::vector<T> values;
  for (std::int64_t i = 0; i < std::min(n, kPeriod); ++i) values.push_back(draw());
  std::size_t next = 0;
  each(held, [&](std::byte* at) {
    put(at, values[next]);
    next = next + 1 == values.size() ? 0 : next + 1;
  });
}

}  // namespace

Held::Held(const Shape& shape, DType type) : Held(shape, type, contiguous_strides(shape)) {}
Held::Held(const Shape& shape, DType type, const Strides& strides) : data(reach(shape, strides) * size_of(type)) {
  array.data = data.data();
  array.shape = shape;
  array.strides = strides;
  array.dtype = type;
}
Held::Held(const Held& other) : data(other.data), array(other.array) {
  if (other.array.data != nullptr) array.data = data.data();
}
Held& Held::operator=(const Held& other) {
  data = other.data;
  array = other.array;
  if (other.array.data != nullptr) array.data = data.data();
  return *this;
}

void fill_with_everything(Held& held, std::uint64_t seed, double scale) {
  PhiloxStream stream({static_cast<std::uint32_t>(seed), 7}, {});
  switch (held.array.dtype) {
    case DType::f32: return fill_periodic<float>(held, [&] { return floating<float>(stream, scale); });
    case DType::f64: return fill_periodic<double>(held, [&] { return floating<double>(stream, scale); });
    case DType::i64: return fill_periodic<std::int64_t>(held, [&] { return integral<std::int64_t>(stream); });
    case DType::i32: return fill_periodic<std::int32_t>(held, [&] { return integral<std::int32_t>(stream); });
    case DType::u8: return fill_periodic<std::uint8_t>(held, [&] { return integral<std::uint8_t>(stream); });
    default: return fill_periodic<std::uint8_t>(held, [&] { return static_cast<std::uint8_t>(stream.below(2)); });
  }
}

void fill_with_ordinary(Held& held, std::uint64_t seed, double low, double high) {
  PhiloxStream stream({static_cast<std::uint32_t>(seed), 8}, {});
  const auto draw = [&] { return low + (high - low) * stream.uniform(); };
  each(held, [&](std::byte* at) {
    if (held.array.dtype == DType::f32) {
      put(at, static_cast<float>(draw()));
    } else {
      put(at, draw());
    }
  });
}

const KernelDef& kernel_of(std::string_view op, DType type) {
  for (const auto family : builtin_kernel_families()) {
    for (const KernelDef& kernel : family) {
      if (kernel.op == op && std::ranges::find(kernel.dtypes, type) != kernel.dtypes.end()) return kernel;
    }
  }
  FAIL("no kernel for " << std::string(op) << " in " << std::string(text(type)));
  std::abort();
}

void run_kernel(std::string_view op, DType key, std::vector<Held>& in, std::vector<Held>& out, const Attrs& attrs) {
  OpDef def{};
  def.name = op;
  std::vector<Array> from, to;
  for (const Held& held : in) from.push_back(held.array);
  for (const Held& held : out) to.push_back(held.array);
  kernel_of(op, key).fn({.op = def, .in = from, .out = to, .attrs = attrs});
}

std::vector<Isa> isas_here() {
  std::vector<Isa> isas = {Isa::scalar};
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (supported(isa)) {
      isas.push_back(isa);
    } else {
      static bool said[3] = {};
      if (!said[static_cast<int>(isa)]) MESSAGE("skipped: this CPU has no " << std::string(text(isa)));
      said[static_cast<int>(isa)] = true;
    }
  }
  return isas;
}

std::vector<std::byte> canonical_bytes(const Held& held) {
  std::vector<std::byte> bytes;
  const std::size_t size = size_of(held.array.dtype);
  each(held, [&](const std::byte* at) {
    std::byte element[8];
    std::memcpy(element, at, size);
    if (held.array.dtype == DType::f32) {
      float x;
      std::memcpy(&x, at, sizeof x);
      if (x != x) put(element, std::uint32_t{0x7FC00000});
    } else if (held.array.dtype == DType::f64) {
      double x;
      std::memcpy(&x, at, sizeof x);
      if (x != x) put(element, std::uint64_t{0x7FF8000000000000});
    }
    bytes.insert(bytes.end(), element, element + size);
  });
  return bytes;
}

std::vector<Held> check_every_isa(std::string_view op, DType key, const std::vector<Held>& in,
                                  const std::vector<Held>& out, const Attrs& attrs) {
  const Isa before = current_isa();
  const auto run = [&](Isa isa, int threads) {
    use_isa(isa);
    set_threads(threads);
    std::vector<Held> from = in, to = out;
    run_kernel(op, key, from, to, attrs);
    for (Held& held : from) to.push_back(std::move(held));
    return to;
  };
  const std::vector<Held> expected = run(Isa::scalar, 1);
  const bool small = (out.empty() ? in[0] : out[0]).array.numel() < 10000;   // never shared between threads
  for (const Isa isa : isas_here()) {
    for (const int threads : {1, 2, 3, 7}) {
      if (small && threads > 1) break;
      const std::vector<Held> got = run(isa, threads);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK_MESSAGE(equal(got[i], expected[i]), std::string(op) << ": array " << i << " differs from scalar on "
                                                                  << std::string(text(isa)) << " with " << threads
                                                                  << " threads, shape " << text(in[0].array.shape));
      }
    }
  }
  use_isa(before);
  set_threads(0);
  return expected;
}

void check_elementwise(std::string_view op, DType type, int inputs, DType out_type, const Attrs& attrs) {
  std::uint64_t seed = 1;
  for (const std::int64_t n : kSizes) {
    std::vector<Held> in;
    for (int i = 0; i < inputs; ++i) {
      in.emplace_back(Shape{n}, type);
      fill_with_everything(in.back(), seed++);
    }
    check_every_isa(op, type, in, {Held(Shape{n}, out_type)}, attrs);
  }
  for (const Shape& shape : {Shape{5, 3}, Shape{33, 65}, Shape{131, 530}}) {
    const std::int64_t rows = shape[0], columns = shape[1];
    const Strides layouts[] = {{columns, 1}, {0, 1}, {1, 0}, {0, 0}, {1, rows}, {3 * columns, 2}};
    for (const Strides& layout : layouts) {
      if (rows > 100 && layout[0] == 1 && layout[1] == 0) continue;
      std::vector<Held> in;
      for (int i = 0; i < inputs; ++i) {
        in.emplace_back(shape, type, i == inputs - 1 ? layout : Strides{columns, 1});
        fill_with_everything(in.back(), seed++);
      }
      const std::vector<Held> got = check_every_isa(op, type, in, {Held(shape, out_type)}, attrs);
      // The same values laid out row by row give the same answer.
      std::vector<Held> dense;
      for (const Held& held : in) {
        dense.emplace_back(shape, type);
        std::vector<Held> from = {held}, to = {dense.back()};
        run_kernel("contiguous", type, from, to);
        dense.back() = to[0];
      }
      std::vector<Held> out = {Held(shape, out_type)};
      run_kernel(op, type, dense, out, attrs);
      CHECK_MESSAGE(equal(out[0], got[0]), std::string(op) << ": strides " << layout[0] << ", " << layout[1]
                                                           << " change the answer");
    }
  }
}

namespace {
template <class T>
double ulps_of(T got, long double exact) {
  if (std::isnan(got) && std::isnan(exact)) return 0;
  const T rounded = static_cast<T>(exact);
  if (got == rounded) return 0;
  if (std::isnan(got) || std::isinf(got) || std::isnan(exact)) return HUGE_VAL;
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}
}  // namespace

double ulps(float got, long double exact) { return ulps_of(got, exact); }
double ulps(double got, long double exact) { return ulps_of(got, exact); }

}  // namespace lockstep::test
