// lockstep runs diff: where two runs differ, in config, results and hashes.
#include <map>

#include "cli/command.h"
#include "cli/run_report.h"
#include "lockstep/base/text.h"
#include "lockstep/state/chain.h"
#include "lockstep/term/table.h"
#include "lockstep/term/text_width.h"
#include "lockstep/track/run_dir.h"

namespace lockstep {
namespace {

constexpr PositionalDef kPositionals[] = {{"A", "a run id, the start of one, a run name or `last`"},
                                          {"B", "the other run"}};

// The lines of a canonical config with the keys above each, so that equal keys meet: "train: / epochs" -> "3".
std::map<std::string, std::string> config_lines(const std::string& config) {
  std::map<std::string, std::string> out;
  std::vector<std::pair<std::size_t, std::string>> above;
  std::map<std::string, int> seen;
  std::size_t at = 0;
  while (at < config.size()) {
    const std::size_t end = std::min(config.find('\n', at), config.size());
    std::string line = config.substr(at, end - at);
    at = end + 1;
    const std::size_t indent = line.find_first_not_of(" -");
    if (indent == std::string::npos || line[indent] == '#') continue;
    const bool item = line.find('-') < indent;
    while (!above.empty() && above.back().first >= indent) above.pop_back();
    const std::size_t colon = line.find(": ", indent);
    const bool opens = line.back() == ':' && colon == std::string::npos;
    std::string key = line.substr(indent, (colon == std::string::npos ? line.size() : colon) - indent);
    if (key.ends_with(':')) key.pop_back();
    std::string path;
    for (const auto& [column, name] : above) path += name + ".";
    path += key;
    // Items of a list share their keys; count them apart.
    if (const int n = seen[path]++; n > 0 || item) path += fmt::format("[{}]", n);
    if (opens) above.emplace_back(indent, path.substr(path.rfind('.') == std::string::npos ? 0 : path.rfind('.') + 1));
    if (colon != std::string::npos) out[path] = line.substr(colon + 2);
    if (colon == std::string::npos && !opens) out[path] = key;
  }
  return out;
}

/// Where the chains of two runs part; nothing to say when one of the files is gone.
struct Chains {
  bool known = false;
  std::optional<ChainDifference> difference;
};
Chains compare_chain_files(const Store& store, const RunRow& a, const RunRow& b) {
  FileSystem& files = real_files();
  const std::string left = RunPaths{join_path(store.runs_dir(), a.id)}.chain(), right = RunPaths{join_path(store.runs_dir(), b.id)}.chain();
  if (!files.exists(left) || !files.exists(right)) return {};
  check_chain(files, left);
  check_chain(files, right);
  return {true, compare_chains(files, left, right)};
}

// Keys of both maps with the two values, where they differ.
template <class F>
void differing(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b, F&& f) {
  std::map<std::string, int> keys;
  for (const auto& [key, value] : a) keys[key] = 1;
  for (const auto& [key, value] : b) keys[key] = 1;
  for (const auto& [key, one] : keys) {
    const auto in_a = a.find(key), in_b = b.find(key);
    const std::string left = in_a == a.end() ? "" : in_a->second, right = in_b == b.end() ? "" : in_b->second;
    if (left != right || (in_a == a.end()) != (in_b == b.end())) f(key, left, right);
  }
}

int run(const Args& args, Console& console) {
  const Store store = Store::open(args.runs_dir, StoreMode::existing);
  warn_about(store, console);
  const RunRow a = store.find_run(args.positional("A")), b = store.find_run(args.positional("B"));
  Json config = Json::array(), metrics = Json::object();
  Table table({{""}, {a.id}, {b.id}});
  const auto compare = [&](const std::string& what, const std::string& left, const std::string& right) {
    table.row({what, left, left == right ? "=" : right});
  };
  compare("name", a.name, b.name);
  compare("status", std::string(text(a.status)), std::string(text(b.status)));
  compare("steps", text(a.step), text(b.step));
  compare("identity", a.identity.substr(0, 16), b.identity.substr(0, 16));
  compare("state hash", a.state_hash.substr(0, 16), b.state_hash.substr(0, 16));
  compare("chain hash", a.chain_hash.substr(0, 16), b.chain_hash.substr(0, 16));
  differing(config_lines(a.config), config_lines(b.config),
            [&](const std::string& key, const std::string& left, const std::string& right) {
              if (key == "name") return;  // stands above
              table.row({key, left.empty() ? "-" : left, right.empty() ? "-" : right});
              config.push(Json::object().set("path", key).set("a", left.empty() ? Json() : Json(left))
                              .set("b", right.empty() ? Json() : Json(right)));
            });
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> values;
  for (const MetricSummary& m : store.summaries(a.id)) values[m.name].first = m.best;
  for (const MetricSummary& m : store.summaries(b.id)) values[m.name].second = m.best;
  for (const auto& [name, pair] : values) {
    const auto& [left, right] = pair;
    compare(name + " (best)", left ? number_text(*left) : "-", right ? number_text(*right) : "-");
    metrics.set(name, Json::object().set("a", left ? Json(*left) : Json()).set("b", right ? Json(*right) : Json()));
  }
  // The chains know the very step; without their files, the first commit at which both were hashed and the hashes part.
  const Chains chains = compare_chain_files(store, a, b);
  std::optional<std::int64_t> parts;
  std::string report = table.text();
  if (!chains.known) {
    std::map<std::int64_t, std::string> hashes;
    for (const StateHashRow& h : store.state_hashes(a.id)) hashes[h.step] = h.hash;
    for (const StateHashRow& h : store.state_hashes(b.id)) {
      const auto at = hashes.find(h.step);
      if (!parts && at != hashes.end() && at->second != h.hash) parts = h.step;
    }
    if (parts) report += fmt::format("\nthe state hashes differ from step {} on (of the steps at which both were hashed)\n", *parts);
  } else if (const auto& d = chains.difference) {
    if (d->a && d->b) parts = d->t;
    report += parts ? fmt::format("\nthe runs part at step {}: {}\n", d->t, d->what)
                    : fmt::format("\nthe same for {} steps; then {} goes on\n", d->t - 1, d->a ? a.id : b.id);
  }
  console.result(report, Json::object()
                             .set("a", a.id)
                             .set("b", b.id)
                             .set("same_identity", a.identity == b.identity)
                             .set("same_state", a.state_hash == b.state_hash)
                             .set("same_chain", chains.known ? !chains.difference : a.chain_hash == b.chain_hash)
                             .set("first_differing_step", parts ? Json(*parts) : Json())
                             .set("first_difference", parts && chains.known ? Json(chains.difference->what) : Json())
                             .set("config", std::move(config))
                             .set("metrics", std::move(metrics)));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_runs_diff = {
    .name = "runs diff",
    .doc = "Compare two runs: config, metrics, hashes",
    .positionals = kPositionals,
    .example = "lockstep runs diff fashion-mlp last",
    .run = run,
};

}  // namespace lockstep
