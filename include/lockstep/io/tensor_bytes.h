// Tensors as bytes: the row-major little-endian form that every file format and hash works on.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lockstep/tensor/tensor.h"

namespace lockstep {

static_assert(std::endian::native == std::endian::little, "files hold little-endian values, which are copied as they lie");

/// A tensor under its canonical dotted name.
struct TensorEntry {
  std::string name;
  Tensor tensor;
};

/// Bytes that the elements take, without gaps.
std::size_t tensor_bytes(const Tensor& t);

/// The elements in logical row-major order, whatever the strides, as consecutive pieces; f(std::span<const std::byte>).
/// A contiguous tensor is one piece and is not copied. An empty one gives no piece. Host tensors only.
class TensorPieces {
 public:
  explicit TensorPieces(const Tensor& t);
  /// False when all pieces were handed out; a piece is valid until the next call.
  bool next(std::span<const std::byte>& piece);

 private:
  const Tensor& t_;
  std::vector<std::byte> buffer_;
  std::int64_t done_ = 0, total_ = 0;
};
template <class F>
void for_each_piece(const Tensor& t, F&& f) {
  TensorPieces pieces(t);
  for (std::span<const std::byte> piece; pieces.next(piece);) f(piece);
}

/// Writes row-major elements into `t`, whatever its strides, and bumps its version.
/// Throws internal unless `bytes` holds exactly tensor_bytes(t).
void assign_bytes(Tensor& t, std::span<const std::byte> bytes);

/// The row-major elements of `t` as text; for tests and small tensors.
std::string bytes_of(const Tensor& t);

}  // namespace lockstep
