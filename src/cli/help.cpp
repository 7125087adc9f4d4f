// Help texts and completion scripts, made from the command definitions.
#include "cli/help.h"

#include <algorithm>

#include "cli/parse.h"
#include "lockstep/base/text.h"
#include "lockstep/base/version.h"

namespace lockstep {
namespace {

constexpr std::string_view kOverrides =
    "Overrides:\n"
    "  path=value   replaces a value of the config: seed=7, train.epochs=1, model.layers.0.out_features=64\n"
    "  path+=item   appends to a list: metrics+=top_k\n"
    "  path=@file   puts the content of a YAML file there: model=@models/small.yaml\n"
    "  The value is read as YAML; quote it from the shell when it holds blanks or brackets.\n";

struct Line {
  std::string left, right;
};

// Two columns; a left side that is too wide stands on a line of its own.
std::string columns(const std::vector<Line>& lines) {
  std::size_t width = 0;
  for (const Line& line : lines) {
    if (line.left.size() <= 28) width = std::max(width, line.left.size());
  }
  std::string out;
  for (const Line& line : lines) {
    if (line.left.size() > width) {
      out += fmt::format("  {}\n  {:{}}  {}\n", line.left, "", width, line.right);
    } else {
      out += fmt::format("  {:{}}  {}\n", line.left, width, line.right);
    }
  }
  return out;
}

std::string option_lines(std::span<const OptionDef> options) {
  std::vector<Line> lines;
  for (const OptionDef& o : options) {
    std::string doc(o.doc);
    if (!o.choices.empty()) doc += fmt::format(" ({})", join(o.choices, ", "));
    if (!o.fallback.empty()) {
      doc += o.kind == OptionKind::optional_value ? fmt::format(" (without a value: {})", o.fallback)
                                                  : fmt::format(" (default: {})", o.fallback);
    }
    lines.push_back(Line{option_text(o), std::move(doc)});
  }
  return columns(lines);
}

// Every line of a text, indented.
std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += fmt::format("  {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string version_text() { return fmt::format("lockstep {} ({}, {})\n", version(), build_type(), compiler()); }

std::string option_text(const OptionDef& o) {
  std::string out = o.short_name.empty() ? std::string(o.name) : fmt::format("{}, {}", o.short_name, o.name);
  if (o.kind == OptionKind::optional_value) return fmt::format("{}[={}]", out, o.value_name);
  if (o.kind != OptionKind::flag) out += fmt::format(" {}", o.value_name);
  return out;
}

std::string usage_line(const CommandDef& command) {
  std::string out = fmt::format("lockstep {}", command.name);
  for (const PositionalDef& p : command.positionals) {
    const std::string_view dots = p.repeated ? "..." : "";
    out += p.required ? fmt::format(" {}{}", p.name, dots) : fmt::format(" [{}{}]", p.name, dots);
  }
  return out + " [OPTIONS]";
}

std::string help_text(std::span<const CommandDef* const> commands, std::string_view group) {
  std::vector<Line> lines;
  for (const CommandDef* c : commands) {
    if (group.empty() || c->name.starts_with(std::string(group) + " ")) {
      lines.push_back(Line{std::string(c->name), std::string(c->doc)});
    }
  }
  std::ranges::sort(lines, {}, &Line::left);
  std::string out;
  if (group.empty()) {
    out = fmt::format("lockstep {}: trains models from a YAML file, reproducibly to the bit\n\n", version());
  }
  out += fmt::format("Usage: lockstep {}{}COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:\n", group,
                     group.empty() ? "" : " ");
  out += columns(lines);
  out += "\nOptions of every command:\n" + option_lines(global_options());
  out += "\n`lockstep COMMAND --help` explains a command.\n";
  return out;
}

std::string help_text(const CommandDef& command) {
  std::string out = fmt::format("{}\n\nUsage: {}\n", command.doc, usage_line(command));
  if (!command.about.empty()) out += fmt::format("\n{}\n", command.about);
  if (!command.positionals.empty()) {
    std::vector<Line> lines;
    for (const PositionalDef& p : command.positionals) lines.push_back(Line{std::string(p.name), std::string(p.doc)});
    out += "\nArguments:\n" + columns(lines);
  }
  if (!command.options.empty()) out += "\nOptions:\n" + option_lines(command.options);
  out += "\nOptions of every command:\n" + option_lines(global_options());
  if (command.overrides) out += fmt::format("\n{}", kOverrides);
  if (!command.example.empty()) out += "\nExample:\n" + indented(command.example);
  return out;
}

std::string completion_script(std::span<const CommandDef* const> commands, std::string_view shell) {
  std::vector<std::string_view> firsts;
  std::string cases;
  for (const CommandDef* c : commands) {
    const std::size_t blank = c->name.find(' ');
    const std::string_view first = c->name.substr(0, blank);
    std::vector<std::string_view> options;
    for (const OptionDef& o : c->options) options.push_back(o.name);
    for (const OptionDef& o : global_options()) options.push_back(o.name);
    cases += fmt::format("    \"{}\") options=\"{}\" ;;\n", c->name, join(options, " "));
    if (std::ranges::find(firsts, first) != firsts.end()) continue;
    firsts.push_back(first);
    if (blank == std::string_view::npos) continue;
    std::vector<std::string_view> seconds;
    for (const CommandDef* other : commands) {
      if (other->name.starts_with(c->name.substr(0, blank + 1))) seconds.push_back(other->name.substr(blank + 1));
    }
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", first, join(seconds, " "));
  }
  std::string out = fmt::format("# Completion of lockstep for {}; load it with: eval \"$(lockstep completion {})\"\n",
                                shell, shell);
  if (shell == "zsh") out += "autoload -U +X bashcompinit && bashcompinit\n";
  out += "_lockstep() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" command=\"\" words=\"\" options=\"\" word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case \"$word\" in -*) ;; *) command=\"${command:+$command }$word\" ;; esac\n"
         "    case \"$command\" in *\" \"*\" \"*) command=\"${command% *}\"; break ;; esac\n"
         "  done\n"
         "  case \"$command\" in\n";
  out += fmt::format("    \"\") words=\"{}\" ;;\n", join(firsts, " "));
  out += cases;
  // A command of one word followed by a file: its options all the same.
  out += "    *) case \"${command%% *}\" in\n";
  for (const CommandDef* c : commands) {
    if (c->name.find(' ') != std::string_view::npos) continue;
    std::vector<std::string_view> options;
    for (const OptionDef& o : c->options) options.push_back(o.name);
    for (const OptionDef& o : global_options()) options.push_back(o.name);
    out += fmt::format("      \"{}\") options=\"{}\" ;;\n", c->name, join(options, " "));
  }
  out += "    esac ;;\n  esac\n"
         "  case \"$current\" in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n"
         "    *) if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "       else COMPREPLY=($(compgen -f -- \"$current\")); fi ;;\n"
         "  esac\n}\ncomplete -o filenames -F _lockstep lockstep\n";
  return out;
}

}  // namespace lockstep
