// Command lines: from argv to a command and its checked arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace lockstep {

/// What a command line asks for: a command to run, or (command null) a text to print.
struct Invocation {
  const CommandDef* command = nullptr;
  Args args{};
  bool json = false, quiet = false;
  std::string text{};  // help or version
  Json document{};     // the same for --json
};

/// The options that every command takes.
std::span<const OptionDef> global_options();

/// Whether --json is among the arguments: asked before they are known to be right.
bool asks_json(std::span<const std::string> arguments);

/// `arguments` are those after the program's name; `runs_environment` is LOCKSTEP_RUNS or empty. Error{usage} says which
/// argument is wrong and what is nearest to it.
Invocation parse(std::span<const std::string> arguments, std::span<const CommandDef* const> commands,
                 std::string_view runs_environment);

}  // namespace lockstep
