// lockstep config check: everything that is wrong with a configuration, shapes included, without training.
#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/runtime/experiment.h"

namespace lockstep {
namespace {

/// A config that reads well may still not build (shapes, missing data): that is one more error, without a place of its own
/// but with its frames.
Json built_error(const std::string& file, const Error& e) {
  std::string message = e.message;
  for (const auto& f : e.frames) message += "; " + f;
  return Json::object().set("file", file).set("line", Json()).set("column", Json()).set("path", "").set("message", message).set("suggestion", Json());
}

int run(const Args& args, Console& console) {
  const std::string file = args.positional("CONFIG");
  const auto overrides = args.rest("OVERRIDE");
  Diagnostics diagnostics;
  const LoadedConfig loaded = load_config(file, overrides, diagnostics);
  Json errors = diagnostics.json();
  std::string report = diagnostics.text();
  int code = diagnostics.has_errors() ? exit_code(Category::usage) : 0;
  if (code == 0 && !args.has("--no-data")) {
    try {
      const Experiment e(loaded.config);
      report += fmt::format("{}: ok ({} parameters tensors, {} steps per epoch)\n", file, e.optim->parameters().size(), e.counters.steps_per_epoch);
    } catch (const Error& e) {
      errors.push(built_error(file, e));
      report += "error: " + text(e) + "\n";
      code = exit_code(e.category);
    }
  } else if (code == 0) {
    report += file + ": ok (data and shapes were not looked at)\n";
  }
  console.result(report, Json::object().set("errors", std::move(errors)));
  return code;
}

constexpr PositionalDef kPositionals[] = {{"CONFIG", "the YAML file"}, {"OVERRIDE", "path=value", false, true}};
constexpr OptionDef kOptions[] = {{.name = "--no-data", .value_name = {}, .doc = "look at the text only: open no data, build no model", .kind = OptionKind::flag}};

}  // namespace

extern constinit const CommandDef command_config_check = {
    .name = "config check",
    .doc = "Report everything that is wrong with a config",
    .about = "Reads the file with its extends and overrides, checks every key, type, range and name, opens the data and\n"
             "runs the model on shapes. All errors come in one pass; the exit code is 2 (config) or 3 (data).",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep config check configs/fashion_mlp.yaml optim.lr=0.01",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
