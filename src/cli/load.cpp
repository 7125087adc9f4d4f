// Reading a config and saying what it warns of.
#include "cli/load.h"

#include <filesystem>
#include <system_error>

namespace lockstep {

LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides, Console& console) {
  Diagnostics diagnostics;
  LoadedConfig loaded = load_config(file, overrides, diagnostics);
  diagnostics.throw_errors();
  if (const std::string warnings = diagnostics.text(); !warnings.empty()) console.info(warnings);
  return loaded;
}

bool names_config(const std::string& word) {
  // What cannot be looked at (a name too long, a loop of links) is no file, and a run is then looked for.
  std::error_code ignored;
  return word.ends_with(".yaml") || word.ends_with(".yml") || std::filesystem::is_regular_file(word, ignored);
}

}  // namespace lockstep
