// Tensor: construction, access, history handles.
#include "lockstep/tensor/tensor.h"

#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/tensor/grad_node.h"
#include "tensor/recycled.h"
#include "tensor/tensor_impl.h"

namespace lockstep {
namespace {

template <class T>
constexpr DType kDTypeOf = DType::f32;
template <>
constexpr DType kDTypeOf<double> = DType::f64;
template <>
constexpr DType kDTypeOf<std::int64_t> = DType::i64;
template <>
constexpr DType kDTypeOf<std::int32_t> = DType::i32;
template <>
constexpr DType kDTypeOf<std::uint8_t> = DType::u8;
template <>
constexpr DType kDTypeOf<bool> = DType::boolean;

std::shared_ptr<TensorImpl> make(const Shape& s, DType t, Device d) {
  auto p = std::allocate_shared<TensorImpl>(Recycled<TensorImpl>());
  p->shape = s;
  p->strides = contiguous_strides(s);
  p->dtype = t;
  p->device = d;
  return p;
}

void check_shape(const Shape& s) {
  std::int64_t n = 1;
  if (s.rank() > kMaxRank)
    fail(Category::usage, fmt::format("a tensor has at most {} axes, not {}", kMaxRank, s.rank()));
  for (const std::int64_t d : s) {
    if (d < 0) fail(Category::usage, fmt::format("shape {} has a negative extent; extents are at least 0", text(s)));
    if (__builtin_mul_overflow(n, d, &n) || n > (std::int64_t{1} << 43))
      fail(Category::resource, fmt::format("shape {} has too many elements; at most 2^43 are addressed", text(s)));
  }
}

template <class T>
void fill_as(void* data, std::int64_t n, double value) {
  std::fill_n(static_cast<T*>(data), n, static_cast<T>(value));
}

double read(const void* base, std::int64_t at, DType t) {
  switch (t) {
    case DType::f32: return static_cast<double>(static_cast<const float*>(base)[at]);
    case DType::f64: return static_cast<const double*>(base)[at];
    case DType::i64: return static_cast<double>(static_cast<const std::int64_t*>(base)[at]);
    case DType::i32: return static_cast<double>(static_cast<const std::int32_t*>(base)[at]);
    case DType::u8: return static_cast<double>(static_cast<const std::uint8_t*>(base)[at]);
    case DType::i8: return static_cast<double>(static_cast<const std::int8_t*>(base)[at]);
    case DType::boolean: return static_cast<const std::uint8_t*>(base)[at] != 0 ? 1.0 : 0.0;
    case DType::bf16: {
      const auto bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(base)[at]) << 16;
      float f = 0;
      std::memcpy(&f, &bits, sizeof f);
      return static_cast<double>(f);
    }
    case DType::f16: break;
  }
  fail(Category::usage, fmt::format("elements of dtype {} cannot be read on the host; cast to float32 first", text(t)));
}

[[noreturn]] void fail_undefined(std::string_view what) {
  fail(Category::internal,
       fmt::format("{} of an undefined tensor (an absent optional input); check defined() first", what));
}

}  // namespace

Tensor Tensor::empty(const Shape& s, DType t, Device d) {
  check_shape(s);
  auto p = make(s, t, d);
  if (d != Device::meta) p->storage = std::allocate_shared<Storage>(Recycled<Storage>(), static_cast<std::size_t>(s.numel()) * size_of(t), d);
  return Tensor(std::move(p));
}

Tensor Tensor::zeros(const Shape& s, DType t, Device d) {
  Tensor out = empty(s, t, d);
  if (d != Device::meta) std::memset(out.raw(), 0, static_cast<std::size_t>(s.numel()) * size_of(t));
  return out;
}

Tensor Tensor::full(const Shape& s, double value, DType t, Device d) {
  if (value == 0.0 && !std::signbit(value)) return zeros(s, t, d);
  Tensor out = empty(s, t, d);
  if (d == Device::meta) return out;
  const std::int64_t n = s.numel();
  switch (t) {
    case DType::f32: fill_as<float>(out.raw(), n, value); break;
    case DType::f64: fill_as<double>(out.raw(), n, value); break;
    case DType::i64: fill_as<std::int64_t>(out.raw(), n, value); break;
    case DType::i32: fill_as<std::int32_t>(out.raw(), n, value); break;
    case DType::u8: fill_as<std::uint8_t>(out.raw(), n, value); break;
    case DType::i8: fill_as<std::int8_t>(out.raw(), n, value); break;
    case DType::boolean: std::memset(out.raw(), value != 0 ? 1 : 0, static_cast<std::size_t>(n)); break;
    case DType::bf16:
    case DType::f16:
      fail(Category::usage,
           fmt::format("full of dtype {}: that dtype is reserved for storage; make float32 and cast", text(t)));
  }
  return out;
}

template <class T>
Tensor Tensor::of(std::span<const T> values, const Shape& s) {
  Tensor out = empty(s, kDTypeOf<T>);
  if (static_cast<std::int64_t>(values.size()) != s.numel())
    fail(Category::internal, fmt::format("Tensor::of got {} values for shape {}, which has {} elements", values.size(),
                                         text(s), s.numel()));
  if (!values.empty()) std::memcpy(out.raw(), values.data(), values.size_bytes());
  return out;
}

Tensor Tensor::view_of(const Tensor& base, const Shape& s, const Strides& strides, std::int64_t offset) {
  auto p = std::allocate_shared<TensorImpl>(Recycled<TensorImpl>());
  p->shape = s;
  p->strides = strides;
  p->offset = offset;
  p->dtype = base.dtype();
  p->device = base.device();
  p->contiguous = is_contiguous(s, strides);
  p->storage = base.p_->storage;
  return Tensor(std::move(p));
}

const Shape& Tensor::shape() const {
  if (!p_) fail_undefined("shape");
  return p_->shape;
}
const Strides& Tensor::strides() const {
  if (!p_) fail_undefined("strides");
  return p_->strides;
}
std::int64_t Tensor::offset() const { return p_ ? p_->offset : 0; }
DType Tensor::dtype() const {
  if (!p_) fail_undefined("dtype");
  return p_->dtype;
}
Device Tensor::device() const {
  if (!p_) fail_undefined("device");
  return p_->device;
}
std::int64_t Tensor::size(std::int64_t axis) const { return shape()[normalize_axis(axis, rank(), "size")]; }
bool Tensor::contiguous() const { return !p_ || p_->contiguous; }

const void* Tensor::raw() const {
  if (!p_) fail_undefined("data");
  if (!p_->storage)
    fail(Category::internal,
         fmt::format("a tensor of shape {} on the meta device has no data; only its shape and dtype are known",
                     text(p_->shape)));
  return first_element(*p_);
}
void* Tensor::raw() { return const_cast<void*>(static_cast<const Tensor*>(this)->raw()); }

template <class T>
std::span<const T> Tensor::values() const {
  if (dtype() != kDTypeOf<T> || !contiguous())
    fail(Category::internal, fmt::format("values<{}>() of a {} tensor of shape {} and dtype {}", text(kDTypeOf<T>),
                                         contiguous() ? "contiguous" : "strided", text(shape()), text(dtype())));
  return {static_cast<const T*>(raw()), static_cast<std::size_t>(numel())};
}
template <class T>
std::span<T> Tensor::values() {
  const std::span<const T> v = static_cast<const Tensor*>(this)->values<T>();
  touch();
  return {const_cast<T*>(v.data()), v.size()};
}

double Tensor::item() const {
  if (numel() != 1)
    fail(Category::usage,
         fmt::format("item() of a tensor of shape {} with {} elements; it needs exactly one", text(shape()), numel()));
  return read(raw(), 0, dtype());
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out;
  const std::int64_t n = numel();
  out.reserve(static_cast<std::size_t>(n));
  if (n == 0) return out;
  const void* base = raw();
  std::array<std::int64_t, kMaxRank> at{};
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t where = 0;
    for (std::size_t a = 0; a < rank(); ++a) where += at[a] * strides()[a];
    out.push_back(read(base, where, dtype()));
    for (std::size_t a = rank(); a-- > 0;) {
      if (++at[a] < shape()[a]) break;
      at[a] = 0;
    }
  }
  return out;
}

bool Tensor::requires_grad() const { return p_ && p_->node; }

Tensor& Tensor::requires_grad_(bool on) {
  if (!p_) fail_undefined("requires_grad_");
  if (p_->node && p_->node->op != nullptr)
    fail(Category::usage,
         fmt::format("requires_grad_ on a result of op '{}'; only leaves take it: detach() first", p_->node->op->name));
  if (on && !is_floating(p_->dtype))
    fail(Category::usage,
         fmt::format("requires_grad_ on a tensor of dtype {}; only floating tensors have gradients", text(p_->dtype)));
  if (!on) {
    p_->node.reset();
  } else if (!p_->node) {
    p_->node = std::allocate_shared<GradNode>(Recycled<GradNode>());
    p_->node->number = next_node_number();
    p_->node->leaf = p_;
    p_->node->out_meta.push_back(meta());
  }
  return *this;
}

const std::shared_ptr<GradNode>& Tensor::node() const {
  if (!p_) fail_undefined("node");
  return p_->node;
}
std::size_t Tensor::output_index() const { return p_ ? p_->output_index : 0; }
Tensor Tensor::detach() const { return with_history(*this, nullptr, 0); }

const std::shared_ptr<Storage>& Tensor::storage() const {
  if (!p_) fail_undefined("storage");
  return p_->storage;
}
std::uint64_t Tensor::version() const { return p_ && p_->storage ? p_->storage->version() : 0; }
void Tensor::touch() {
  if (p_ && p_->storage) p_->storage->touch();
}
bool Tensor::same_storage(const Tensor& o) const { return p_ && o.p_ && p_->storage && p_->storage == o.p_->storage; }

template Tensor Tensor::of(std::span<const float>, const Shape&);
template Tensor Tensor::of(std::span<const double>, const Shape&);
template Tensor Tensor::of(std::span<const std::int64_t>, const Shape&);
template Tensor Tensor::of(std::span<const std::int32_t>, const Shape&);
template Tensor Tensor::of(std::span<const std::uint8_t>, const Shape&);
template Tensor Tensor::of(std::span<const bool>, const Shape&);
template std::span<const float> Tensor::values() const;
template std::span<const double> Tensor::values() const;
template std::span<const std::int64_t> Tensor::values() const;
template std::span<const std::int32_t> Tensor::values() const;
template std::span<const std::uint8_t> Tensor::values() const;
template std::span<const bool> Tensor::values() const;
template std::span<float> Tensor::values();
template std::span<double> Tensor::values();
template std::span<std::int64_t> Tensor::values();
template std::span<std::int32_t> Tensor::values();
template std::span<std::uint8_t> Tensor::values();
template std::span<bool> Tensor::values();

}  // namespace lockstep
