// Help texts, made from the command definitions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace lockstep {

/// Every command with its line; `group` ("runs") limits the list to that group.
std::string help_text(std::span<const CommandDef* const> commands, std::string_view group = {});
/// One command: usage, options, how overrides work where it takes them, an example.
std::string help_text(const CommandDef& command);
/// `lockstep train CONFIG [OVERRIDE...] [OPTIONS]`
std::string usage_line(const CommandDef& command);
/// `--threads N`, `--resume[=RUN]`, `-q, --quiet`
std::string option_text(const OptionDef& option);
/// `lockstep 0.1.0 (Release, GNU 12.2.0)`
std::string version_text();
/// The words for tab completion in a shell, "bash" or "zsh".
std::string completion_script(std::span<const CommandDef* const> commands, std::string_view shell);

}  // namespace lockstep
