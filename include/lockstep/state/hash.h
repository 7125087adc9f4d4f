// State hashes: sd-v1, the fingerprint of a run's weights, and the fast digest that joins the chain.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/base/nh128.h"
#include "lockstep/base/sha256.h"
#include "lockstep/io/tensor_bytes.h"

namespace lockstep {

// sd-v1 (NUMERICS, Hash; reference in Python: tests/goldens/sd_v1.py). Tensors are sorted by the bytes of their names;
// numbers are little-endian.
//   leaf = sha256("sd-v1" 0 | u32 name bytes | name | u8 dtype | u8 ndim | u64 dims[ndim] | row-major elements)
//   root = sha256 over (u32 name bytes | name | leaf) of every tensor
// dtype: 0 float32, 1 float64, 2 bfloat16, 3 float16, 4 int64, 5 int32, 6 uint8, 7 int8, 8 bool.
// A NaN counts as the quiet NaN 0x7fc00000 (float32), 0x7ff8000000000000, 0x7fc0, 0x7e00; -0 differs from +0.
// Strides, file layout, metadata, time and host do not enter.
struct StateLeaf {
  std::string name;
  Digest digest{};
};
struct StateHash {
  Digest root{};
  std::vector<StateLeaf> leaves;   // sorted by name
};

/// Leaves are computed on pool(). Throws internal when two tensors have one name.
StateHash state_hash(std::span<const TensorEntry> tensors);
Digest state_leaf(const TensorEntry& t);

/// NH-128 of tensors in byte order of names: tensor after tensor, each padded to whole pairs of words (base/nh128.h).
/// What the optimizer pass computes along the way; NaNs are taken as they are.
Nh128 state_fingerprint(std::span<const TensorEntry> tensors);
/// The word position where each tensor starts in that sequence, in the order of `tensors`.
std::vector<std::uint64_t> fingerprint_positions(std::span<const TensorEntry> tensors);

}  // namespace lockstep
