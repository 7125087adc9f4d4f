// What a kernel is and what it is handed. Kernels never allocate, broadcast, promote or validate.
#pragma once

#include "lockstep/tensor/op.h"

namespace lockstep {

/// A strided array as a kernel sees it; `data` is the first element. Absent optional inputs have null data.
struct Array {
  void* data = nullptr;
  Shape shape;
  Strides strides{};
  DType dtype = DType::f32;
  template <class T>
  [[nodiscard]] T* as() const { return static_cast<T*>(data); }
  [[nodiscard]] std::int64_t numel() const { return shape.numel(); }
  [[nodiscard]] bool contiguous() const { return is_contiguous(shape, strides); }
};

/// One call. For ops marked `elementwise` every input has the output's shape (strides 0 where broadcast).
/// Outputs are contiguous and freshly allocated, except mutated inputs, which are not outputs: they are written in place.
struct KernelCall {
  const OpDef& op;
  std::span<const Array> in;
  std::span<const Array> out;
  const Attrs& attrs;
  void* workspace = nullptr;                // `workspace()` bytes, 64-byte aligned
};

/// portable: the bits NUMERICS fixes. repeatable: equal on one machine and build. free: no promise.
enum class Exactness : std::uint8_t { portable, repeatable, free };

/// Key: op name, device, dtype of the first present input (of the output for ops without inputs).
struct KernelDef {
  std::string_view op;
  Device device = Device::cpu;
  std::span<const DType> dtypes;
  Exactness exactness = Exactness::portable;
  std::size_t (*workspace)(const KernelCall&) = nullptr;      // bytes; data pointers are null in this call
  void (*fn)(const KernelCall&) = nullptr;
};

/// The table CMake generates from src/kernels/<device>, one span per file.
std::span<const std::span<const KernelDef>> builtin_kernel_families();

/// Installs ops and kernels; called once at start (main and test main), before any apply().
/// Throws internal on a kernel that names no op, on two kernels for one key, or on an op with neither kernel nor reference.
void install_ops(std::span<const std::span<const OpDef>> ops, std::span<const std::span<const KernelDef>> kernels);

}  // namespace lockstep
