// sd-v1 and NH-128 over named tensors.
#include "lockstep/state/hash.h"

#include "lockstep/base/error.h"
#include "lockstep/base/pool.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

// Copies elements with NaNs replaced; U is the unsigned integer of the element's size.
template <class U>
void canonicalize(const std::byte* from, std::byte* to, std::size_t count, U magnitude, U infinity, U quiet) {
  for (std::size_t i = 0; i < count; ++i) {
    U bits;
    std::memcpy(&bits, from + i * sizeof(U), sizeof(U));
    bits = static_cast<U>(bits & magnitude) > infinity ? quiet : bits;
    std::memcpy(to + i * sizeof(U), &bits, sizeof(U));
  }
}

void canonicalize(DType t, const std::byte* from, std::byte* to, std::size_t bytes) {
  switch (t) {
    case DType::f32: return canonicalize<std::uint32_t>(from, to, bytes / 4, 0x7fffffff, 0x7f800000, 0x7fc00000);
    case DType::f64:
      return canonicalize<std::uint64_t>(from, to, bytes / 8, 0x7fffffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000);
    case DType::bf16: return canonicalize<std::uint16_t>(from, to, bytes / 2, 0x7fff, 0x7f80, 0x7fc0);
    default: return canonicalize<std::uint16_t>(from, to, bytes / 2, 0x7fff, 0x7c00, 0x7e00);
  }
}

void update_name(Sha256& sha, std::string_view name) {
  sha.update_value(static_cast<std::uint32_t>(name.size())).update(name);
}

std::vector<const TensorEntry*> sorted(std::span<const TensorEntry> tensors) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& t : tensors) order.push_back(&t);
  std::ranges::sort(order, {}, [](const TensorEntry* t) -> const std::string& { return t->name; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->name == order[i - 1]->name) {
      failf(Category::internal, "two tensors of the state are called {}", quote(order[i]->name));
    }
  }
  return order;
}

}  // namespace

Digest state_leaf(const TensorEntry& t) {
  constexpr std::size_t kPiece = 16384;
  alignas(64) std::byte buffer[kPiece];
  Sha256 sha;
  sha.update(std::string_view("sd-v1\0", 6));
  update_name(sha, t.name);
  sha.update_value(static_cast<std::uint8_t>(t.tensor.dtype()));
  sha.update_value(static_cast<std::uint8_t>(t.tensor.rank()));
  for (const std::int64_t d : t.tensor.shape()) sha.update_value(static_cast<std::uint64_t>(d));
  for_each_piece(t.tensor, [&](std::span<const std::byte> piece) {
    if (!is_floating(t.tensor.dtype())) {
      sha.update(piece);
      return;
    }
    while (!piece.empty()) {
      const std::size_t n = std::min(kPiece, piece.size());
      canonicalize(t.tensor.dtype(), piece.data(), buffer, n);
      sha.update({buffer, n});
      piece = piece.subspan(n);
    }
  });
  return sha.digest();
}

StateHash state_hash(std::span<const TensorEntry> tensors) {
  const std::vector<const TensorEntry*> order = sorted(tensors);
  StateHash out;
  out.leaves.resize(order.size());
  if (!order.empty()) {
    parallel_for(static_cast<std::int64_t>(order.size()), [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      out.leaves[at] = {order[at]->name, state_leaf(*order[at])};
    });
  }
  Sha256 sha;
  for (const StateLeaf& leaf : out.leaves) {
    update_name(sha, leaf.name);
    sha.update(std::as_bytes(std::span(leaf.digest)));
  }
  out.root = sha.digest();
  return out;
}

Nh128 state_fingerprint(std::span<const TensorEntry> tensors) {
  const std::vector<std::uint64_t> first = fingerprint_positions(tensors);
  Nh128 sum;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Pieces of a strided tensor hold whole words only when its elements do; such tensors are rare, so copy them.
    if (tensors[i].tensor.contiguous()) {
      for_each_piece(tensors[i].tensor, [&](std::span<const std::byte> piece) { sum += nh128(piece, first[i]); });
    } else {
      const std::string bytes = bytes_of(tensors[i].tensor);
      sum += nh128(std::as_bytes(std::span(bytes)), first[i]);
    }
  }
  return sum;
}

std::vector<std::uint64_t> fingerprint_positions(std::span<const TensorEntry> tensors) {
  std::vector<std::uint64_t> first(tensors.size());
  std::uint64_t at = 0;
  for (const TensorEntry* t : sorted(tensors)) {
    first[static_cast<std::size_t>(t - tensors.data())] = at;
    at += nh128_extent(tensor_bytes(t->tensor));
  }
  return first;
}

}  // namespace lockstep
