// What a Tensor handle points to.
#pragma once

#include "lockstep/tensor/storage.h"
#include "lockstep/tensor/tensor.h"

namespace lockstep {

struct TensorImpl {
  Shape shape;
  Strides strides{};
  std::int64_t offset = 0;
  DType dtype = DType::f32;
  Device device = Device::cpu;
  bool contiguous = true;
  std::shared_ptr<Storage> storage;  // null on Device::meta
  std::shared_ptr<GradNode> node;    // null: no history
  std::size_t output_index = 0;
};

/// The address of the first element; null without storage.
inline void* first_element(const TensorImpl& t) {
  return t.storage ? static_cast<std::byte*>(t.storage->data()) + static_cast<std::size_t>(t.offset) * size_of(t.dtype)
                   : nullptr;
}

}  // namespace lockstep
