// Overrides: `path=value` and `path+=item` of the command line.
#pragma once

#include <set>
#include <string>

#include "config/merge.h"

namespace lockstep {

/// Applies override number `n` (from 1) to out.root. Paths that its value refers to are added to `used`.
void apply_override(const std::string& argument, int n, Composed& out, Merger& merger, const MergeRules& rules,
                    std::set<std::string>& used, Diagnostics& diagnostics);

/// Reports an `extends` below the root.
void refuse_inner_extends(const Node& root, Diagnostics& diagnostics, bool whole_file_is_root);

}  // namespace lockstep
