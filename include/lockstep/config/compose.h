// Composes a configuration: file, `extends`, overrides, references. The rules are docs/config.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/config/diagnostics.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// What merging must know about component positions. Layer `component` answers for a root struct (position_rules());
/// without it a map is a component when it has a `name`, and only id, from, coef and repeat survive a change of name.
class MergeRules {
 public:
  using Path = std::span<const std::string>;  // keys and indices from `root` down
  virtual ~MergeRules() = default;
  /// True when a component may stand at `path`.
  [[nodiscard]] virtual bool component_at(const Node& root, Path path) const;
  /// True when `key` beside the component at `path` belongs to the position or the kind, not to the component.
  [[nodiscard]] virtual bool stays(const Node& root, Path path, std::string_view key) const;
  /// The component that `map`, a map without `name` at `path`, chooses when it is put over a component called `under`
  /// (empty: over nothing); empty when it chooses none.
  [[nodiscard]] virtual std::string chosen(const Node& root, Path path, const Node& map, std::string_view under) const;
};

/// A value that a later one replaced.
struct Shadowed {
  Origin origin{};
  std::string value;  // on one line
};

/// A composed configuration.
struct Composed {
  Node root;                                              // without `extends` and `vars`; references resolved
  std::vector<std::string> files;                         // every file read, in the order of reading
  std::map<std::string, std::vector<Shadowed>> shadowed;  // path -> what its value replaced, oldest first
  Node vars;                                              // the root's `vars`, for `config explain`
};

/// Reads `file` and what it extends, applies `overrides` (each `path=value` or `path+=item`) in order and resolves
/// references. What is wrong goes to `diagnostics`. Throws Error(usage) when `file` itself cannot be read.
Composed compose(const std::string& file, std::span<const std::string> overrides, Diagnostics& diagnostics,
                 const MergeRules& rules = MergeRules{});
/// The same from a source in memory.
Composed compose(const SourceRef& source, std::span<const std::string> overrides, Diagnostics& diagnostics,
                 const MergeRules& rules = MergeRules{});

/// True for a command-line argument that is an override: it holds a `=`.
bool is_override(std::string_view argument);

/// Which line set the value at `path`, what it is, and what it shadowed; for `config explain`.
/// Throws Error(usage) with the nearest path when nothing is written there.
std::string explain(const Composed& c, std::string_view path);

/// Splits `a."b.c".0` into its segments. False when a quote is left open or a segment is empty.
bool split_path(std::string_view path, std::vector<std::string>& segments);

/// The node at `path` (keys, indices, ids, component names); null when there is none.
const Node* find_path(const Node& root, std::string_view path);

/// Every path of the tree, in order: for suggestions.
std::vector<std::string> all_paths(const Node& root);

}  // namespace lockstep
