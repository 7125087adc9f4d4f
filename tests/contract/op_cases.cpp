// Builds inputs from samples, and compares results.
#include "op_cases.h"

#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "lockstep/base/philox.h"

namespace lockstep::test {
namespace {

void put(void* base, std::int64_t at, DType t, double v) {
  switch (t) {
    case DType::f32: static_cast<float*>(base)[at] = static_cast<float>(v); break;
    case DType::f64: static_cast<double*>(base)[at] = v; break;
    case DType::i64: static_cast<std::int64_t*>(base)[at] = static_cast<std::int64_t>(v); break;
    case DType::i32: static_cast<std::int32_t*>(base)[at] = static_cast<std::int32_t>(v); break;
    case DType::u8: static_cast<std::uint8_t*>(base)[at] = static_cast<std::uint8_t>(v); break;
    case DType::boolean: static_cast<std::uint8_t*>(base)[at] = v != 0 ? 1 : 0; break;
    default: break;
  }
}

Tensor laid_out(const std::vector<double>& values, const Shape& s, DType t, Layout layout) {
  Tensor out;
  if (layout == Layout::plain) {
    out = Tensor::empty(s, t);
  } else {
    Strides strides{};
    std::int64_t step = 2;
    for (std::size_t a = 0; a < s.rank(); ++a) {
      strides[a] = step;
      step *= std::max<std::int64_t>(1, s[a]);
    }
    const Tensor base = Tensor::full({step + 3}, 77, t);  // what a wrong offset or stride would read
    out = Tensor::view_of(base, s, strides, 3);
  }
  std::array<std::int64_t, kMaxRank> at{};
  for (const double v : values) {
    std::int64_t where = 0;
    for (std::size_t a = 0; a < s.rank(); ++a) where += at[a] * out.strides()[a];
    put(out.raw(), where, t, v);
    for (std::size_t a = s.rank(); a-- > 0;) {
      if (++at[a] < s[a]) break;
      at[a] = 0;
    }
  }
  return out;
}

Tensors make(const std::vector<SampleInput>& list, DType floats, Layout layout) {
  Tensors out;
  std::uint32_t index = 0;
  for (const SampleInput& i : list) {
    PhiloxStream stream({0x7465'7374U, 1U}, {0, index++, 0, 0});
    if (!i.present) {
      out.emplace_back();
      continue;
    }
    const DType t = i.dtype == DType::f32 ? floats : i.dtype;
    std::vector<double> v = i.values;
    for (std::int64_t e = 0, n = v.empty() ? i.shape.numel() : 0; e < n; ++e) {
      if (is_floating(t))
        v.push_back(i.low + stream.uniform() * (i.high - i.low));
      else
        v.push_back(
            static_cast<double>(stream.below(static_cast<std::uint64_t>(t == DType::boolean ? 2 : i.high_int))));
    }
    out.push_back(laid_out(v, i.shape, t, layout));
  }
  return out;
}

}  // namespace

Tensors inputs_of(const OpSample& s, DType floats, Layout layout) { return make(s.in, floats, layout); }
Tensors inputs_of(const BadSample& s) { return make(s.in, DType::f32, Layout::plain); }

Tensors relaid(std::span<const Tensor> in, Layout layout) {
  Tensors out;
  for (const Tensor& t : in) out.push_back(t.defined() ? laid_out(t.to_doubles(), t.shape(), t.dtype(), layout) : t);
  return out;
}

Tensors metas_of(std::span<const Tensor> in) {
  Tensors out;
  for (const Tensor& t : in) out.push_back(t.defined() ? Tensor::empty(t.shape(), t.dtype(), Device::meta) : t);
  return out;
}

std::string case_text(const OpDef& op, std::size_t sample, std::span<const Tensor> in) {
  std::string out = fmt::format("{} sample {} (", op.name, sample);
  for (std::size_t i = 0; i < in.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ",
                       in[i].defined() ? fmt::format("{} {}", text(in[i].shape()), text(in[i].dtype())) : "-");
  return out + ")";
}

std::string bytes_of(std::span<const Tensor> tensors) {
  std::string out;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    const Tensor c = t.contiguous() ? t : laid_out(t.to_doubles(), t.shape(), t.dtype(), Layout::plain);
    out.append(static_cast<const char*>(c.raw()), static_cast<std::size_t>(c.numel()) * size_of(c.dtype()));
  }
  return out;
}

std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.shape() != expected.shape() || got.dtype() != expected.dtype())
    return fmt::format("got {} {}, expected {} {}", text(got.shape()), text(got.dtype()), text(expected.shape()),
                       text(expected.dtype()));
  const std::vector<double> a = got.to_doubles(), b = expected.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]))))
      return fmt::format("element {}: got {}, expected {} (tolerance {})", i, a[i], b[i], tolerance);
  }
  return {};
}

}  // namespace lockstep::test
