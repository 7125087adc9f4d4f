// lockstep config schema: JSON Schema of a config, for editors.
#include "cli/command.h"
#include "lockstep/component/schema.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {
namespace {

int run(const Args&, Console& console) {
  const Json document = schema<RunConfig>(builtin_registry());
  console.result(document.dump(2), document);
  return 0;
}

}  // namespace

extern constinit const CommandDef command_config_schema = {
    .name = "config schema",
    .doc = "Print the JSON Schema of a config",
    .about = "Point an editor's YAML support at the file to get completion and checks while typing.",
    .example = "lockstep config schema > lockstep.schema.json",
    .run = run,
};

}  // namespace lockstep
