// Command lines, by way of CLI11. It sees shielded words only, because it splits `[1,2]`, ends at a lone `++` and lets
// an option with an optional value eat the next word.
#include "cli/parse.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "cli/help.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/base/version.h"

namespace lockstep {
namespace {

constexpr OptionDef kGlobals[] = {
    {.name = "--json", .value_name = {}, .doc = "print one JSON document on stdout, everything else on stderr",
     .kind = OptionKind::flag},
    {.name = "--runs-dir", .value_name = "DIR",
     .doc = "the folder that holds the runs (default: LOCKSTEP_RUNS, else runs)"},
    {.name = "--quiet", .value_name = {}, .doc = "no progress and no remarks", .kind = OptionKind::flag,
     .short_name = "-q"},
    {.name = "--help", .value_name = {}, .doc = "explain the command", .kind = OptionKind::flag, .short_name = "-h"},
    {.name = "--version", .value_name = {}, .doc = "print the version", .kind = OptionKind::flag},
};

constexpr char kShield = '\x01';

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

// "--threads" of "--threads=4"
std::string_view option_name(std::string_view word) { return word.substr(0, word.find('=')); }

const OptionDef* find_option(std::span<const OptionDef> options, std::string_view name) {
  const auto at = std::ranges::find_if(
      options, [&](const OptionDef& o) { return o.name == name || (!o.short_name.empty() && o.short_name == name); });
  return at == options.end() ? nullptr : &*at;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices) {
  const auto near = nearest(word, choices);
  return near ? fmt::format("; did you mean {}?", quote(*near)) : std::string();
}

[[noreturn]] void unknown_option(std::string_view word, const CommandDef* command) {
  std::vector<std::string> names;
  if (command != nullptr) {
    for (const OptionDef& o : command->options) names.emplace_back(o.name);
  }
  for (const OptionDef& o : kGlobals) names.emplace_back(o.name);
  const std::string_view name = option_name(word);
  if (command == nullptr) failf(Category::usage, "unknown option {}{}", quote(name), did_you_mean(name, names));
  failf(Category::usage, "unknown option {} of {}{} `lockstep {} --help` lists them", quote(name),
        quote(command->name), did_you_mean(name, names).empty() ? std::string(".") : did_you_mean(name, names),
        command->name);
}

// The command that the first words name. Takes those words out of `words`.
const CommandDef* take_command(std::vector<std::string>& words, std::span<const CommandDef* const> commands,
                               std::string& group) {
  std::vector<std::size_t> at;  // the first two plain words
  for (std::size_t i = 0; i < words.size() && at.size() < 2; ++i) {
    if (words[i] == "--") break;
    if (words[i] == "--runs-dir") {
      ++i;
    } else if (!is_option(words[i])) {
      at.push_back(i);
    } else if (at.empty() && find_option(kGlobals, option_name(words[i])) == nullptr) {
      unknown_option(words[i], nullptr);
    }
  }
  if (at.empty()) return nullptr;
  const auto named = [&](std::string_view name) -> const CommandDef* {
    const auto found = std::ranges::find_if(commands, [&](const CommandDef* c) { return c->name == name; });
    return found == commands.end() ? nullptr : *found;
  };
  const auto erase = [&](std::size_t i) { words.erase(words.begin() + static_cast<std::ptrdiff_t>(i)); };
  const std::string first = words[at[0]];
  if (const CommandDef* command = named(first)) {
    erase(at[0]);
    return command;
  }
  std::vector<std::string> firsts, seconds;
  for (const CommandDef* c : commands) {
    const std::size_t blank = c->name.find(' ');
    firsts.emplace_back(c->name.substr(0, blank));
    if (firsts.back() == first) seconds.emplace_back(c->name.substr(blank + 1));
  }
  if (seconds.empty()) {
    failf(Category::usage, "unknown command {}{} `lockstep --help` lists the commands", quote(first),
          did_you_mean(first, firsts).empty() ? std::string(".") : did_you_mean(first, firsts));
  }
  group = first;
  if (at.size() < 2) return nullptr;
  const std::string second = words[at[1]];
  const CommandDef* command = named(first + " " + second);
  if (command == nullptr) {
    failf(Category::usage, "unknown command {}{} {} has: {}", quote(first + " " + second),
          did_you_mean(second, seconds).empty() ? std::string(".") : did_you_mean(second, seconds), first,
          join(seconds, ", "));
  }
  erase(at[1]);
  erase(at[0]);
  return command;
}

// Words as CLI11 may see them: everything that is no option becomes \x01<index>.
class Shield {
 public:
  std::string hide(std::string_view word) {
    hidden_.emplace_back(word);
    return kShield + std::to_string(hidden_.size() - 1);
  }
  std::string show(const std::string& word) const {
    return word.empty() || word[0] != kShield ? word : hidden_[std::stoul(word.substr(1))];
  }

 private:
  std::vector<std::string> hidden_;
};

void check_choice(const OptionDef& option, const std::string& value) {
  if (option.choices.empty() || std::ranges::find(option.choices, value) != option.choices.end()) return;
  const auto near = nearest(value, option.choices);
  failf(Category::usage, "{} does not take {}: it is one of {}{}", option.name, quote(value),
        join(option.choices, ", "), near ? fmt::format("; did you mean {}?", quote(*near)) : std::string());
}

void assign_positionals(const CommandDef& command, const std::vector<std::string>& words, Args& args) {
  std::size_t at = 0;
  for (const PositionalDef& p : command.positionals) {
    if (at == words.size()) {
      if (p.required) failf(Category::usage, "{} is missing: {}\n  {}: {}", p.name, usage_line(command), p.name, p.doc);
      continue;
    }
    auto& values = args.positionals[std::string(p.name)];
    do {
      if (command.overrides && p.name == "OVERRIDE" && words[at].find('=') == std::string::npos) {
        failf(Category::usage,
              "{} is no override: after {} come arguments of the form path=value (or path+=item), such as seed=7",
              quote(words[at]), command.positionals[0].name);
      }
      values.push_back(words[at++]);
    } while (p.repeated && at < words.size());
  }
  if (at < words.size()) {
    failf(Category::usage, "{} is one argument too many: {}", quote(words[at]), usage_line(command));
  }
}

}  // namespace

std::span<const OptionDef> global_options() { return kGlobals; }

bool asks_json(std::span<const std::string> arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

Invocation parse(std::span<const std::string> arguments, std::span<const CommandDef* const> commands,
                 std::string_view runs_environment) {
  Invocation out;
  std::vector<std::string> words(arguments.begin(), arguments.end());
  bool help = false;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--version") {
      out.text = version_text();
      out.document = Json::object().set("lockstep", version()).set("build_type", build_type()).set("compiler", compiler());
      return out;
    }
    help = help || word == "--help" || word == "-h";
  }
  if (!words.empty() && words.front() == "help") {
    help = true;
    words.erase(words.begin());
  }
  std::string group;
  const CommandDef* command = take_command(words, commands, group);
  if (help || command == nullptr) {
    if (!help && group.empty()) failf(Category::usage, "which command? `lockstep --help` lists them");
    if (!help) {
      std::vector<std::string_view> names;
      for (const CommandDef* c : commands) {
        if (c->name.starts_with(group + " ")) names.push_back(c->name);
      }
      failf(Category::usage, "{} needs one more word: {}", quote(group), join(names, ", "));
    }
    out.text = command != nullptr ? help_text(*command) : help_text(commands, group);
    out.document = Json::object().set("help", out.text);
    return out;
  }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::pair<const OptionDef*, CLI::Option*>> options;
  const auto define = [&](const OptionDef& def) {
    std::string name(def.name);
    if (!def.short_name.empty()) name = std::string(def.short_name) + "," + name;
    CLI::Option* option = def.kind == OptionKind::flag ? app.add_flag(name) : app.add_option(name);
    if (def.kind != OptionKind::flag) {
      option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    options.emplace_back(&def, option);
  };
  for (const OptionDef& def : kGlobals) define(def);
  for (const OptionDef& def : command->options) define(def);

  Shield shield;
  std::vector<std::string> shielded;
  bool plain = false;  // after "--"
  for (const std::string& word : words) {
    if (!plain && word == "--") {
      plain = true;
      continue;
    }
    if (plain || !is_option(word)) {
      shielded.push_back(shield.hide(word));
      continue;
    }
    const std::string_view name = option_name(word);
    const OptionDef* def = find_option(command->options, name);
    if (def == nullptr) def = find_option(kGlobals, name);
    const bool has_value = name.size() < word.size();
    if (def == nullptr && word.starts_with("--")) unknown_option(word, command);
    if (def != nullptr && def->kind == OptionKind::flag && has_value) {
      failf(Category::usage, "{} takes no value, but {} was given", def->name, quote(word.substr(name.size() + 1)));
    }
    if (has_value) {
      shielded.push_back(std::string(name) + "=" + shield.hide(word.substr(name.size() + 1)));
    } else if (def != nullptr && def->kind == OptionKind::optional_value) {
      shielded.push_back(std::string(name) + "=" + shield.hide(def->fallback));
    } else {
      shielded.push_back(word);
    }
  }
  std::ranges::reverse(shielded);  // CLI11 reads from the back
  try {
    app.parse(shielded);
  } catch (const CLI::ParseError& error) {
    const std::string what = error.what();
    for (const auto& [def, option] : options) {
      if (def->kind != OptionKind::flag && what.find(def->name) != std::string::npos) {
        failf(Category::usage, "{} needs a value: {}", def->name, option_text(*def));
      }
    }
    fail(Category::usage, what);
  }
  out.command = out.args.command = command;
  for (const auto& [def, option] : options) {
    if (option->count() == 0) continue;
    auto& values = out.args.options[std::string(def->name)];
    if (def->kind == OptionKind::flag) continue;
    for (const std::string& value : option->results()) {
      values.push_back(shield.show(value));
      check_choice(*def, values.back());
    }
    if (values.size() > 1 && def->kind != OptionKind::repeated) {
      failf(Category::usage, "{} was given {} times ({}); give it once", def->name, values.size(), join(values, ", "));
    }
  }
  std::vector<std::string> plain_words;
  for (const std::string& word : app.remaining()) {
    if (is_option(word)) unknown_option(word, command);
    plain_words.push_back(shield.show(word));
  }
  assign_positionals(*command, plain_words, out.args);
  out.json = out.args.has("--json");
  out.quiet = out.args.has("--quiet");
  if (!runs_environment.empty()) out.args.runs_dir = runs_environment;
  if (const auto dir = out.args.value("--runs-dir")) {
    if (dir->empty()) failf(Category::usage, "--runs-dir needs a folder, but it is empty");
    out.args.runs_dir = *dir;
  }
  return out;
}

}  // namespace lockstep
