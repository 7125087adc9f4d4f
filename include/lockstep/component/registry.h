// Registry: which components a reader may find. A value, so that tests and plugins can add rows.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/component/component.h"

namespace lockstep {

class Registry {
 public:
  Registry() = default;
  explicit Registry(std::span<const ManifestRow> rows) { add(rows); }
  /// Adds rows; they must outlive the registry. Throws Error(usage) when a kind already has that name.
  void add(std::span<const ManifestRow> rows);

  /// Null when the kind has no component of that name.
  [[nodiscard]] const ManifestRow* find(std::string_view kind, std::string_view name) const;
  /// Names of a kind, sorted.
  [[nodiscard]] std::vector<std::string> names(std::string_view kind) const;
  /// Kinds with at least one component, sorted.
  [[nodiscard]] std::vector<std::string> kinds() const;
  /// Every row, by kind, then name.
  [[nodiscard]] std::vector<ManifestRow> rows() const;

 private:
  std::map<std::string, std::map<std::string, ManifestRow, std::less<>>, std::less<>> rows_;
};

/// What is wrong with the definitions themselves, one line each: a kind that is not the folder's, an empty doc, an
/// illegal or doubled field name, a default outside its range, an example that does not parse, a config that does not
/// survive printing and reading. For contract tests and plugin loading.
std::vector<std::string> check_registry(const Registry& registry);
/// The same for the fields of a root struct. `where` names it in the lines.
std::vector<std::string> check_fields(std::span<const Field> fields, std::string_view where);

}  // namespace lockstep
