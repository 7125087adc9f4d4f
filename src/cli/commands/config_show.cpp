// lockstep config show: the resolved config, every default written out.
#include "cli/command.h"
#include "cli/load.h"
#include "lockstep/component/canonical.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {
namespace {

int run(const Args& args, Console& console) {
  const auto overrides = args.rest("OVERRIDE");
  const LoadedConfig loaded = load_config(args.positional("CONFIG"), overrides, console);
  const Node tree = canonical(loaded.config);
  console.result(canonical_text(tree), to_json(tree));
  return 0;
}

constexpr PositionalDef kPositionals[] = {{"CONFIG", "the YAML file"}, {"OVERRIDE", "path=value", false, true}};

}  // namespace

extern constinit const CommandDef command_config_show = {
    .name = "config show",
    .doc = "Print the resolved config, defaults included",
    .about = "The output is a config itself: loading it again gives the same run.",
    .positionals = kPositionals,
    .example = "lockstep config show configs/fashion_mlp.yaml train.epochs=5 > resolved.yaml",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
