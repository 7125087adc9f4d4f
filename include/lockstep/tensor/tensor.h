// Tensor: a cheap handle on a strided array. Copies share storage; views share storage and its version.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lockstep/tensor/shape.h"

namespace lockstep {

class Storage;        // tensor/storage.h
struct GradNode;      // tensor/grad_node.h
struct TensorImpl;    // src/tensor/tensor_impl.h

/// How an output of an op looks into an input's storage: element strides and an offset from the storage's start.
struct View {
  std::size_t input = 0;
  Strides strides{};
  std::int64_t offset = 0;
};

/// What is known of a tensor without its data. Outputs of `infer`; tensors on Device::meta have nothing else.
struct Meta {
  Shape shape;
  DType dtype = DType::f32;
  std::optional<View> view{};
  bool operator==(const Meta& o) const { return shape == o.shape && dtype == o.dtype; }
};

class Tensor {
 public:
  Tensor() = default;                       // undefined: an absent optional input
  explicit Tensor(std::shared_ptr<TensorImpl> p) : p_(std::move(p)) {}

  /// Uninitialised, contiguous. Throws resource when memory runs out.
  static Tensor empty(const Shape& s, DType t = DType::f32, Device d = Device::cpu);
  static Tensor zeros(const Shape& s, DType t = DType::f32, Device d = Device::cpu);
  static Tensor full(const Shape& s, double value, DType t = DType::f32, Device d = Device::cpu);
  /// A rank-0 tensor.
  static Tensor scalar(double value, DType t = DType::f64) { return full({}, value, t); }
  /// Copies `values` (row-major, numel of them). T: float, double, int64_t, int32_t, uint8_t, bool.
  template <class T>
  static Tensor of(std::span<const T> values, const Shape& s);
  template <class T>
  static Tensor of(std::initializer_list<T> v, const Shape& s) { return of(std::span<const T>(v.begin(), v.size()), s); }
  /// A view of `base`'s storage; no history. The caller vouches that it lies inside the storage.
  static Tensor view_of(const Tensor& base, const Shape& s, const Strides& strides, std::int64_t offset);

  [[nodiscard]] bool defined() const { return p_ != nullptr; }
  explicit operator bool() const { return defined(); }
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] const Strides& strides() const;
  [[nodiscard]] std::int64_t offset() const;             // elements from the storage's start
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  [[nodiscard]] Meta meta() const { return {shape(), dtype(), {}}; }
  [[nodiscard]] std::size_t rank() const { return shape().rank(); }
  [[nodiscard]] std::int64_t numel() const { return shape().numel(); }
  [[nodiscard]] std::int64_t size(std::int64_t axis) const;   // negative counts from the end
  [[nodiscard]] bool contiguous() const;

  /// Address of the first element (offset applied). Host tensors only.
  [[nodiscard]] const void* raw() const;
  [[nodiscard]] void* raw();                              // does not bump the version: call touch() after writing
  template <class T>
  [[nodiscard]] std::span<const T> values() const;        // contiguous tensors of dtype T only; else throws internal
  template <class T>
  [[nodiscard]] std::span<T> values();                    // the same for writing; bumps the version
  /// The only element as a double (any dtype). Throws usage unless numel() == 1.
  [[nodiscard]] double item() const;
  /// Every element as a double, row-major, any strides and dtype. For tests and messages.
  [[nodiscard]] std::vector<double> to_doubles() const;

  // History. A leaf that requires grad has a GradNode without op; a result has the node that made it.
  [[nodiscard]] bool requires_grad() const;
  /// Makes a leaf require grad. Throws usage on integer dtypes and on results of ops.
  Tensor& requires_grad_(bool on = true);
  [[nodiscard]] const std::shared_ptr<GradNode>& node() const;
  [[nodiscard]] std::size_t output_index() const;         // which output of node() this is
  [[nodiscard]] Tensor detach() const;                    // same storage, no history

  // Storage.
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const;
  /// Counts writes to the storage; `backward` refuses a saved tensor whose version moved.
  [[nodiscard]] std::uint64_t version() const;
  void touch();
  [[nodiscard]] bool same_storage(const Tensor& o) const;
  /// Identity of the handle's target (two handles on one tensor compare equal).
  [[nodiscard]] const TensorImpl* id() const { return p_.get(); }
  [[nodiscard]] const std::shared_ptr<TensorImpl>& impl() const { return p_; }

 private:
  std::shared_ptr<TensorImpl> p_;
};

using Tensors = std::vector<Tensor>;

}  // namespace lockstep
