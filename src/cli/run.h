// One invocation of lockstep: parse, run the command, turn whatever goes wrong into a message and an exit code.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace lockstep {

/// Runs what `arguments` (without the program's name) ask for and gives the exit code. `prepare` is called before a
/// command runs, not for help, version and usage errors. Throws nothing.
int run_cli(std::span<const std::string> arguments, std::span<const CommandDef* const> commands, Console& console,
            void (*prepare)());

/// {"error": {"category", "exit_code", "message", "frames"}}
Json error_json(std::string_view category, int exit_code, std::string_view message,
                const std::vector<std::string>& frames);

}  // namespace lockstep
