// safetensors: the file format in which weights leave and enter (https://github.com/huggingface/safetensors).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lockstep/base/file.h"
#include "lockstep/io/tensor_bytes.h"

namespace lockstep {

/// What an exported model says of itself in its metadata.
inline constexpr std::string_view kStateHashKey = "lockstep.state_hash", kIdentityKey = "lockstep.identity",
                                  kStepKey = "lockstep.step", kStatusKey = "lockstep.status";

using SafetensorsMetadata = std::map<std::string, std::string>;

struct Safetensors {
  std::vector<TensorEntry> tensors;     // sorted by the bytes of their names
  SafetensorsMetadata metadata;         // "__metadata__"
};

/// Writes `path` (emptied first), syncs and closes it; renaming is the caller's. The bytes are a function of contents
/// and metadata: header entries in byte order of names, data by element size (widest first), then name, so that every
/// tensor is aligned. Adds "format": "pt" to the metadata. Throws internal when two tensors have one name.
void write_safetensors(FileSystem& files, const std::string& path, std::span<const TensorEntry> tensors,
                       SafetensorsMetadata metadata = {});
/// The same as a string.
std::string safetensors_bytes(std::span<const TensorEntry> tensors, SafetensorsMetadata metadata = {});

/// Reads a whole file. Throws data, naming the file and the tensor: no such file, cut short, header that is no JSON
/// object, unknown dtype, size that disagrees with shape, offsets that overlap, leave a gap or end outside the file,
/// a name that stands twice.
Safetensors read_safetensors(FileSystem& files, const std::string& path);

}  // namespace lockstep
