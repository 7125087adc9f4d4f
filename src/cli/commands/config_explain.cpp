// lockstep config explain: where a value comes from and what it replaced.
#include "cli/command.h"
#include "cli/load.h"
#include "lockstep/component/canonical.h"
#include "lockstep/config/compose.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {
namespace {

/// The value and origin of one path as text and JSON. A default has no line of its own.
int run(const Args& args, Console& console) {
  auto overrides = args.rest("OVERRIDE");
  const std::string path = args.positional("PATH");
  const LoadedConfig loaded = load_config(args.positional("CONFIG"), overrides, console);
  const Node tree = canonical(loaded.config);
  const Node* written = find_path(loaded.composed.root, path);
  const Node* resolved = find_path(tree, path);
  Json out = Json::object().set("path", path);
  std::string report;
  if (written == nullptr && resolved != nullptr) {
    report = fmt::format("{}: {}\n  the default; no file and no override sets it\n", path, resolved->shown());
    out.set("value", to_json(*resolved)).set("origin", "default").set("shadowed", Json::array());
  } else {
    report = explain(loaded.composed, path);
    Json shadowed = Json::array();
    if (const auto it = loaded.composed.shadowed.find(path); it != loaded.composed.shadowed.end())
      for (const auto& s : it->second) shadowed.push(Json::object().set("origin", s.origin.text()).set("value", s.value));
    out.set("value", written != nullptr ? to_json(*written) : Json()).set("origin", written != nullptr ? written->origin.text() : "").set("shadowed", std::move(shadowed));
  }
  console.result(report, out);
  return 0;
}

constexpr PositionalDef kPositionals[] = {{"CONFIG", "the YAML file"}, {"PATH", "dotted path, e.g. optim.lr"}, {"OVERRIDE", "path=value", false, true}};

}  // namespace

extern constinit const CommandDef command_config_explain = {
    .name = "config explain",
    .doc = "Say which line, override or default set a value",
    .positionals = kPositionals,
    .example = "lockstep config explain configs/fashion_mlp.yaml optim.lr optim.lr=0.01",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
