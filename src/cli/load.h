// Configs as commands read them.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"
#include "lockstep/runtime/run_config.h"

namespace lockstep {

/// Composes and reads; warnings (keys dropped because a component's name changed) go to stderr, errors are thrown together
/// as one Error{usage}.
LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides, Console& console);

/// Whether an argument that names a run or a config names a config: by its ending, or because it is a file.
bool names_config(const std::string& word);

}  // namespace lockstep
