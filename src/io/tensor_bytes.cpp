// Row-major bytes of strided tensors, both ways.
#include "lockstep/io/tensor_bytes.h"

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kPieceElements = 8192;

// The offset, in elements from the first one, of logical element `i`.
std::int64_t element_offset(const Shape& s, const Strides& strides, std::int64_t i) {
  std::int64_t out = 0;
  for (std::size_t axis = s.rank(); axis-- > 0;) {
    out += i % s[axis] * strides[axis];
    i /= s[axis];
  }
  return out;
}

// Calls f(offset, count, stride) for runs of elements along the last axis that cover logical elements [begin, end).
template <class F>
void for_each_run(const Tensor& t, std::int64_t begin, std::int64_t end, F&& f) {
  const Shape& s = t.shape();
  const std::int64_t last = s.rank() == 0 ? 1 : s[s.rank() - 1];
  const std::int64_t stride = s.rank() == 0 ? 1 : t.strides()[s.rank() - 1];
  while (begin < end) {
    const std::int64_t count = std::min(end - begin, last - begin % last);
    f(element_offset(s, t.strides(), begin), count, stride);
    begin += count;
  }
}

template <std::size_t Size>
void gather(const std::byte* from, std::int64_t count, std::int64_t stride, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * Size, from + i * stride * static_cast<std::int64_t>(Size), Size);
  }
}
template <std::size_t Size>
void scatter(const std::byte* from, std::int64_t count, std::int64_t stride, std::byte* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * stride * static_cast<std::int64_t>(Size), from + static_cast<std::size_t>(i) * Size, Size);
  }
}

// Picks the copy loop of an element size.
template <class F1, class F2, class F4, class F8>
auto by_size(std::size_t size, F1 f1, F2 f2, F4 f4, F8 f8) {
  return size == 1 ? f1 : size == 2 ? f2 : size == 4 ? f4 : f8;
}

}  // namespace

std::size_t tensor_bytes(const Tensor& t) { return static_cast<std::size_t>(t.numel()) * size_of(t.dtype()); }

TensorPieces::TensorPieces(const Tensor& t) : t_(t), total_(t.numel()) {}

bool TensorPieces::next(std::span<const std::byte>& piece) {
  if (done_ >= total_) return false;
  const std::size_t size = size_of(t_.dtype());
  const auto* base = static_cast<const std::byte*>(t_.raw());
  if (t_.contiguous()) {
    piece = {base, tensor_bytes(t_)};
    done_ = total_;
    return true;
  }
  const std::int64_t end = std::min(total_, done_ + kPieceElements);
  buffer_.resize(static_cast<std::size_t>(end - done_) * size);
  const auto copy = by_size(size, gather<1>, gather<2>, gather<4>, gather<8>);
  std::byte* to = buffer_.data();
  for_each_run(t_, done_, end, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
    copy(base + offset * static_cast<std::int64_t>(size), count, stride, to);
    to += static_cast<std::size_t>(count) * size;
  });
  done_ = end;
  piece = buffer_;
  return true;
}

void assign_bytes(Tensor& t, std::span<const std::byte> bytes) {
  if (bytes.size() != tensor_bytes(t)) {
    failf(Category::internal, "{} bytes assigned to a tensor {} of {}, which holds {}", bytes.size(), text(t.shape()),
          text(t.dtype()), tensor_bytes(t));
  }
  if (bytes.empty()) return;
  const std::size_t size = size_of(t.dtype());
  auto* base = static_cast<std::byte*>(t.raw());
  if (t.contiguous()) {
    std::memcpy(base, bytes.data(), bytes.size());
  } else {
    const auto copy = by_size(size, scatter<1>, scatter<2>, scatter<4>, scatter<8>);
    const std::byte* from = bytes.data();
    for_each_run(t, 0, t.numel(), [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
      copy(from, count, stride, base + offset * static_cast<std::int64_t>(size));
      from += static_cast<std::size_t>(count) * size;
    });
  }
  t.touch();
}

std::string bytes_of(const Tensor& t) {
  std::string out;
  out.reserve(tensor_bytes(t));
  for_each_piece(t, [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return out;
}

}  // namespace lockstep
