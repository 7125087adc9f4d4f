// Reads checkpoints and exported models for the store.
#include "lockstep/runtime/probe.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/state/hash.h"

namespace lockstep {

CheckpointProbe checkpoint_probe(FileSystem& files) {
  return [&files](const std::string& path) -> std::optional<CheckpointFacts> {
    try {
      if (!path.ends_with(".safetensors")) {
        const CheckpointInfo info = verify_checkpoint(files, path);
        return CheckpointFacts{info.step, info.epoch, hex(info.state_hash), hex(info.chain), {}};
      }
      const Safetensors model = read_safetensors(files, path);
      const auto said = [&](std::string_view key) {
        const auto at = model.metadata.find(std::string(key));
        return at == model.metadata.end() ? std::string() : at->second;
      };
      const auto step = parse_int(said(kStepKey));
      if (!step || said(kStateHashKey) != hex(state_hash(model.tensors).root)) return std::nullopt;
      return CheckpointFacts{*step, 0, said(kStateHashKey), {}, parse_run_status(said(kStatusKey))};
    } catch (const Error& error) {
      if (error.category != Category::data) throw;
      return std::nullopt;
    }
  };
}

}  // namespace lockstep
