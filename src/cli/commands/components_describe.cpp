// lockstep components describe: one component's keys, defaults and example.
#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/component/describe.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"NAME", "adamw, or with its kind: optimizers/adamw"}};

int run(const Args& args, Console& console) {
  const std::string word = args.positional("NAME");
  const std::size_t slash = word.find('/');
  const std::string kind = slash == std::string::npos ? "" : word.substr(0, slash);
  const std::string name = slash == std::string::npos ? word : word.substr(slash + 1);
  const auto rows = builtin_registry().rows();
  std::vector<ManifestRow> found;
  std::vector<std::string> names;
  for (const ManifestRow& row : rows) {
    if (row.name == name && (kind.empty() || row.kind == kind)) found.push_back(row);
    names.emplace_back(row.name);
    names.push_back(fmt::format("{}/{}", row.kind, row.name));
  }
  if (found.empty()) {
    const auto near = nearest(word, names);
    failf(Category::usage, "there is no component {}{} `lockstep components ls` lists them", quote(word),
          near ? fmt::format("; did you mean {}?", quote(*near)) : std::string("."));
  }
  // A name may stand in several kinds (a loss and a metric); each is shown.
  std::string report;
  Json list = Json::array();
  for (const ManifestRow& row : found) {
    if (!report.empty()) report += "\n";
    report += describe(row);
    list.push(describe_json(row));
  }
  console.result(report, Json::object().set("components", std::move(list)));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_components_describe = {
    .name = "components describe",
    .doc = "Explain a component: its keys, defaults, ranges and an example",
    .positionals = kPositionals,
    .example = "lockstep components describe adamw",
    .run = run,
};

}  // namespace lockstep
