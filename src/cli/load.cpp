// Reading a config and saying what it warns of.
#include "cli/load.h"

namespace lockstep {

LoadedConfig load_config(const std::string& file, std::span<const std::string> overrides, Console& console) {
  Diagnostics diagnostics;
  LoadedConfig loaded = load_config(file, overrides, diagnostics);
  diagnostics.throw_errors();
  if (const std::string warnings = diagnostics.text(); !warnings.empty()) console.info(warnings);
  return loaded;
}

}  // namespace lockstep
