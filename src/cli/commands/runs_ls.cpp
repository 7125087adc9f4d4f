// lockstep runs ls: the runs of a folder, newest first.
#include "cli/command.h"
#include "cli/run_report.h"
#include "lockstep/base/text.h"
#include "lockstep/term/table.h"
#include "lockstep/term/text_width.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"NAME", "only runs of this name", false}};
constexpr std::string_view kStatuses[] = {"running", "finished", "stopped", "failed", "interrupted"};
constexpr OptionDef kOptions[] = {
    {.name = "--status", .value_name = "STATUS", .doc = "only runs in this state", .choices = kStatuses},
    {.name = "--limit", .value_name = "N", .doc = "the newest N only"},
};

int run(const Args& args, Console& console) {
  const auto limit = args.integer("--limit", 1, 1'000'000'000);
  const auto status = args.value("--status");
  const Store store = Store::open(args.runs_dir, StoreMode::existing);
  warn_about(store, console);
  Table table({{"run"}, {"name"}, {"status"}, {"created"}, {"steps", Align::right}, {"epochs", Align::right},
               {"state hash"}, {"best metrics"}});
  Json list = Json::array();
  std::int64_t count = 0;
  for (const RunRow& row : store.runs(args.positional("NAME"))) {
    if (status && text(row.status) != *status) continue;
    if (limit && count == *limit) break;
    ++count;
    if (console.json()) {
      list.push(run_json(store, row));
      continue;
    }
    std::string metrics;
    for (const MetricSummary& m : store.summaries(row.id)) {
      // Curves of training are noise in a list; what was evaluated is what runs are compared by.
      if (m.name.starts_with("train/")) continue;
      if (!metrics.empty()) metrics += "  ";
      metrics += m.direction == Direction::none ? fmt::format("{} {} (last)", m.name, number_text(m.last))
                                                : fmt::format("{} {}", m.name, number_text(m.best));
    }
    table.row({row.id, row.name, std::string(text(row.status)), time_text(row.created_ns), text(row.step),
               text(row.epoch), row.state_hash.empty() ? "-" : row.state_hash.substr(0, 12), metrics});
  }
  console.result(table.empty() ? "no runs match\n" : table.text(), Json::object().set("runs", std::move(list)));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_runs_ls = {
    .name = "runs ls",
    .doc = "List the runs, newest first",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep runs ls\nlockstep runs ls fashion-mlp --status finished --json",
    .run = run,
};

}  // namespace lockstep
