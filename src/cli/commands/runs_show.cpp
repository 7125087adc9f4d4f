// lockstep runs show: everything the store knows of one run.
#include "cli/command.h"
#include "cli/run_report.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"RUN", "a run id, the start of one, a run name (its newest run) or `last`"}};
constexpr OptionDef kOptions[] = {
    {.name = "--config", .value_name = {}, .doc = "print the run's resolved config instead", .kind = OptionKind::flag},
    {.name = "--curves", .value_name = {}, .doc = "with --json: every logged value too",
     .kind = OptionKind::flag},
};

int run(const Args& args, Console& console) {
  const Store store = Store::open(args.runs_dir, StoreMode::existing);
  warn_about(store, console);
  const RunRow row = store.find_run(args.positional("RUN"));
  Json document = run_json(store, row);
  if (args.has("--config")) document.set("config", row.config);
  if (args.has("--curves")) {
    Json curves = Json::object();
    for (const MetricRow& m : store.metrics(row.id)) {
      curves[m.name].push(Json::array().push(m.step).push(m.value));
    }
    document.set("curves", std::move(curves));
  }
  console.result(args.has("--config") ? row.config : run_text(store, row), document);
  return 0;
}

}  // namespace

extern constinit const CommandDef command_runs_show = {
    .name = "runs show",
    .doc = "Show one run: state, metrics, processes, files, events",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep runs show last\nlockstep runs show fashion-mlp --json",
    .run = run,
};

}  // namespace lockstep
