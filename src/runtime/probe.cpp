// Reads checkpoints and exported models for the store.
#include "lockstep/runtime/probe.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/io/safetensors.h"

namespace lockstep {

CheckpointProbe checkpoint_probe(FileSystem& files) {
  return [&files](const std::string& path) -> std::optional<CheckpointFacts> {
    try {
      if (!path.ends_with(".safetensors")) {
        const CheckpointInfo info = verify_checkpoint(files, path);
        return CheckpointFacts{info.step, info.epoch, hex(info.state_hash), hex(info.chain)};
      }
      const Safetensors model = read_safetensors(files, path);
      const auto step = model.metadata.find("lockstep.step");
      const auto hash = model.metadata.find("lockstep.state_hash");
      const auto parsed = step == model.metadata.end() ? std::nullopt : parse_int(step->second);
      if (!parsed || hash == model.metadata.end()) return std::nullopt;
      return CheckpointFacts{*parsed, 0, hash->second, {}};
    } catch (const Error& error) {
      if (error.category != Category::data) throw;
      return std::nullopt;
    }
  };
}

}  // namespace lockstep
