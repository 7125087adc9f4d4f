// Merging one tree over another, and recording what was replaced.
#pragma once

#include <string>
#include <vector>

#include "lockstep/config/compose.h"

namespace lockstep {

/// Merges trees of one config.
class Merger {
 public:
  Merger(Composed& out, const MergeRules& rules, Diagnostics& diagnostics)
      : out_(out), rules_(rules), diagnostics_(diagnostics) {}

  /// Puts `over` over out.root: maps key by key, everything else replaces.
  void merge(Node over);
  /// Puts `value` in the place of `at`, the node at `path` of out.root, and records what it shadows.
  void replace(Node& at, Node value, const std::vector<std::string>& path);
  /// Prepares the component map `at` for the name `name`: keys that were another component's are dropped and reported.
  void rename(Node& at, const std::string& name, const std::string& old, const std::vector<std::string>& path,
              const Origin& why);

 private:
  void merge_into(Node& base, Node over, std::vector<std::string>& path);
  void merge_maps(Node& base, Node over, std::vector<std::string>& path);
  void report_dropped(const Node& map, std::size_t i, const std::string& old, const std::string& name,
                      const std::vector<std::string>& path, const Origin& why);

  Composed& out_;
  const MergeRules& rules_;
  Diagnostics& diagnostics_;
};

/// The component that a map names explicitly.
std::string explicit_name(const Node& map);

}  // namespace lockstep
