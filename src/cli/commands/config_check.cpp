// lockstep config check: everything that is wrong with a configuration, shapes included, without training.
#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/runtime/experiment.h"

namespace lockstep {
namespace {

/// A place of the config and the path of what stands there.
struct Place {
  Origin origin{};
  std::string path{};
};

/// Whether `text` names the place, as "x.yaml:3:12" that no digit continues.
bool names(std::string_view text, const Origin& origin) {
  if (!origin.written()) return false;
  const std::string place = origin.text();
  for (std::size_t at = text.find(place); at != std::string_view::npos; at = text.find(place, at + 1)) {
    const std::size_t end = at + place.size();
    if (end == text.size() || text[end] < '0' || text[end] > '9') return true;
  }
  return false;
}

/// The deepest node below `n` whose place `text` names.
std::optional<Place> find_place(const Node& n, const std::string& path, std::string_view text) {
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    const std::string segment = n.is_map() ? n.keys[i].text : std::to_string(i);
    if (auto below = find_place(n.items[i], path.empty() ? segment : path + "." + segment, text)) return below;
  }
  if (names(text, n.origin)) return Place{n.origin, path};
  return std::nullopt;
}

/// A config that reads well may still not build: shapes, missing data. The error goes where its message, else its
/// innermost frame, says; without such a place to the top of the file.
void add_error(const Error& e, const LoadedConfig& loaded, Diagnostics& diagnostics) {
  std::optional<Place> place = find_place(loaded.composed.root, "", e.message);
  for (const std::string& frame : e.frames) {
    if (place) break;
    place = find_place(loaded.composed.root, "", frame);
    // A frame without a place of its own names a path: "in data.loader".
    const std::string path = frame.starts_with("in ") ? frame.substr(3) : std::string();
    if (!place && !path.empty() && path.find(' ') == std::string::npos) {
      if (const Node* node = find_path(loaded.composed.root, path)) place = Place{node->origin, path};
    }
  }
  if (!place) place = Place{loaded.composed.root.origin, {}};
  // A frame that only names the path says what the place says.
  std::vector<std::string> frames = e.frames;
  std::erase(frames, "in " + place->path);
  diagnostics.error(place->origin, place->path, e.message, {}, join(frames, "\n"));
}

int run(const Args& args, Console& console) {
  const std::string file = args.positional("CONFIG");
  const auto overrides = args.rest("OVERRIDE");
  Diagnostics diagnostics;
  const LoadedConfig loaded = load_config(file, overrides, diagnostics);
  int code = diagnostics.has_errors() ? exit_code(Category::usage) : 0;
  std::string verdict;
  if (code == 0 && args.has("--no-data")) {
    verdict = file + ": ok (data and shapes were not looked at)\n";
  } else if (code == 0) {
    try {
      const Experiment e(loaded.config);
      std::int64_t parameters = 0;
      for (const Tensor& t : e.optim->parameters()) parameters += t.shape().numel();
      verdict = fmt::format("{}: ok ({} parameters, {} training samples, {} steps)\n", file, parameters,
                            e.train.dataset->size(), e.counters.total_steps);
    } catch (const Error& e) {
      if (e.category == Category::internal) throw;
      add_error(e, loaded, diagnostics);
      code = exit_code(e.category);
    }
  }
  // What is wrong is what this command was asked for: its result, not a remark.
  console.result(diagnostics.text() + verdict, Json::object().set("errors", diagnostics.json()));
  return code;
}

constexpr PositionalDef kPositionals[] = {{"CONFIG", "the YAML file"}, {"OVERRIDE", "path=value", false, true}};
constexpr OptionDef kOptions[] = {{.name = "--no-data",
                                   .value_name = {},
                                   .doc = "look at the text only: open no data, build no model",
                                   .kind = OptionKind::flag}};

}  // namespace

extern constinit const CommandDef command_config_check = {
    .name = "config check",
    .doc = "Report everything that is wrong with a config",
    .about = "Reads the file with its extends and overrides, checks every key, type, range and name, opens the data and\n"
             "runs the model on shapes. What the text shows comes in one pass, what data and shapes show after it. The\n"
             "exit code is 2 (config), 3 (data) or 5 (something that this machine lacks).",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep config check configs/fashion_mlp.yaml optim.lr=0.01",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
