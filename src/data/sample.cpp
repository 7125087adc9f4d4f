// The buffers of a sample on its way through the stages.
#include "lockstep/base/error.h"
#include "lockstep/data/dataset.h"

namespace lockstep {

void Sample::bind(std::size_t field, std::byte* slot, std::size_t bytes) {
  if (field >= values.size()) values.resize(field + 1);
  if (field >= buffers_.size()) buffers_.resize(field + 1);
  values[field].data = nullptr;
  buffers_[field].slot = slot;
  buffers_[field].slot_bytes = bytes;
}

std::byte* Sample::rewrite(std::size_t field, const Shape& s, DType t) {
  if (field >= values.size()) values.resize(field + 1);
  if (field >= buffers_.size()) buffers_.resize(values.size());
  Value& v = values[field];
  Buffers& b = buffers_[field];
  const std::size_t bytes = static_cast<std::size_t>(s.numel()) * size_of(t);
  v.shape = s;
  v.dtype = t;
  if (b.slot != nullptr && b.slot_bytes == bytes && v.data != b.slot) {
    v.data = b.slot;
  } else {
    // The other of the two: the value that is being replaced may lie in this one.
    b.next = 1 - b.next;
    std::vector<std::byte>& scratch = b.scratch[b.next];
    if (scratch.size() < bytes || scratch.empty()) scratch.resize(std::max<std::size_t>(bytes, 8));
    v.data = scratch.data();
  }
  return v.data;
}

void Sample::start(const SampleSpec& of) {
  spec = &of;
  values.resize(of.fields.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const FieldSpec& f = of.fields[i];
    rewrite(i, f.shape, f.dtype);
  }
}

}  // namespace lockstep
