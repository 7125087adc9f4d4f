// lockstep hash: the sd-v1 hash of the weights in a file.
#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/state/hash.h"
#include "lockstep/state/save_load.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"FILE", "model.safetensors or a .ckpt of a run"}};

int run(const Args& args, Console& console) {
  const std::string path = args.positional("FILE");
  FileSystem& files = real_files();
  std::vector<TensorEntry> entries;
  std::string recorded;   // what the file says of itself; empty: nothing
  if (path.ends_with(".safetensors")) {
    Safetensors model = read_safetensors(files, path);
    entries = std::move(model.tensors);
    if (const auto said = model.metadata.find(std::string(kStateHashKey)); said != model.metadata.end()) recorded = said->second;
  } else if (path.ends_with(".ckpt")) {
    const Checkpoint checkpoint = read_checkpoint(files, path);
    recorded = hex(checkpoint.info.state_hash);
    entries = state_dict(checkpoint);
  } else {
    failf(Category::usage, "cannot tell what {} is: `hash` reads files named *.safetensors and *.ckpt", quote(path));
  }
  const StateHash hash = state_hash(entries);
  if (!recorded.empty() && recorded != hex(hash.root)) {
    failf(Category::mismatch, "{}: its tensors hash to {}, but the file says {}: they were changed after it was written",
          quote(path), hex(hash.root), recorded);
  }
  Json tensors = Json::object();
  for (const StateLeaf& leaf : hash.leaves) tensors.set(leaf.name, hex(leaf.digest));
  console.result(fmt::format("{}  {}\n", hex(hash.root), path),
                 Json::object().set("state_hash", hex(hash.root)).set("tensors", std::move(tensors)));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_hash = {
    .name = "hash",
    .doc = "Print the state hash of the weights in a file",
    .about = "Equal weights give equal hashes whatever the file format; optimizer state does not count. Exit code 6 when the\n"
             "file records another hash than its tensors have.",
    .positionals = kPositionals,
    .example = "lockstep hash runs/20240501-123456-k3mq/model.safetensors",
    .run = run,
};

}  // namespace lockstep
