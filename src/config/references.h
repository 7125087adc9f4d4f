// References `${path}` and `${env:NAME:default}` in a composed tree.
#pragma once

#include <set>
#include <string>

#include "lockstep/config/diagnostics.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// The paths that references anywhere in `n` name, as they are written.
void collect_references(const Node& n, std::set<std::string>& paths);

/// Replaces every reference below `root` by what it names, and `$${` by `${`.
void resolve_references(Node& root, Diagnostics& diagnostics);

/// Reports each value under `vars` that no path in `used` names.
void report_unused_vars(const Node& root, const std::set<std::string>& used, Diagnostics& diagnostics);

}  // namespace lockstep
