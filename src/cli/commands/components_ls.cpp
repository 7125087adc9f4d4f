// lockstep components ls: what a config can name.
#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/component/describe.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"KIND", "layers, losses, optimizers, ...; all without it", false}};

int run(const Args& args, Console& console) {
  const Registry& registry = builtin_registry();
  const std::string kind = args.positional("KIND");
  const auto kinds = registry.kinds();
  if (!kind.empty() && std::ranges::find(kinds, kind) == kinds.end()) {
    const auto near = nearest(kind, kinds);
    failf(Category::usage, "there is no kind of component {}{} The kinds are: {}", quote(kind),
          near ? fmt::format("; did you mean {}?", quote(*near)) : std::string("."), join(kinds, ", "));
  }
  console.result(list_components(registry, kind),
                 Json::object().set("components", list_components_json(registry, kind)));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_components_ls = {
    .name = "components ls",
    .doc = "List what a config can name: models, layers, losses, optimizers, ...",
    .positionals = kPositionals,
    .example = "lockstep components ls optimizers",
    .run = run,
};

}  // namespace lockstep
