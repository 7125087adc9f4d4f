// Checkpoint container: tensors and scalars of a run at one step, in one checksummed file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/file.h"
#include "lockstep/base/json.h"
#include "lockstep/base/sha256.h"
#include "lockstep/io/tensor_bytes.h"

namespace lockstep {

// Layout, version 1; all numbers little-endian:
//   0   "LOCKSTEP"
//   8   u32 version, u32 0
//   16  u64 bytes of the header
//   24  header: JSON, then zero bytes to a multiple of 64 from the start of the file
//       sections, each on a multiple of 64: the tensors in header order, scalars (JSON), selection (JSON)
//       zero bytes to a multiple of 64, then the sha256 of everything before it
// Offsets in the header count from the end of its padding. The bytes are a function of the Checkpoint alone: no time,
// host or path. Everything but `selection` is a function of (identity, step).
inline constexpr std::uint32_t kCheckpointVersion = 1;

/// What a file is about, without its contents.
struct CheckpointInfo {
  Digest identity{};       // of the run
  std::int64_t step = 0;   // optimizer steps done
  std::int64_t epoch = 0;  // whole passes over the training split that these steps make
  Digest chain{};          // head of the chain at `step`
  Digest state_hash{};     // sd-v1 root of parameters and buffers
};

struct CheckpointTensor {
  std::string name;
  std::string kind;        // "parameter", "buffer" or "slot"
  Tensor tensor;
};

struct Checkpoint {
  CheckpointInfo info;
  std::vector<CheckpointTensor> tensors;
  Json scalars = Json::object();
  Json selection = Json::object();   // last evaluation, best scores, top-k: may follow nuisances
};

/// Writes at the file's position; neither syncs nor closes.
void write_checkpoint(File& file, const Checkpoint& c);
/// Writes `path` (emptied first), syncs and closes it. Renaming onto the final name is the commit protocol's business.
void write_checkpoint(FileSystem& files, const std::string& path, const Checkpoint& c);

// All readers throw data: no such file, no checkpoint at all, written by a newer version, cut short, or damaged.
/// The whole file, checksum verified.
Checkpoint read_checkpoint(FileSystem& files, const std::string& path);
/// The header alone: cheap, and not verified.
CheckpointInfo read_checkpoint_info(FileSystem& files, const std::string& path);
/// Reads everything and compares the checksum; keeps nothing.
CheckpointInfo verify_checkpoint(FileSystem& files, const std::string& path);

/// PyTorch's dtype name back to the type. Throws data with the name.
DType dtype_named(std::string_view name, std::string_view where);

}  // namespace lockstep
