// Registry: lookups by kind and name. Also what references say of themselves.
#include "lockstep/component/registry.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {

void Registry::add(std::span<const ManifestRow> rows) {
  for (const ManifestRow& row : rows) {
    const auto [known, is_new] = rows_[std::string(row.kind)].emplace(std::string(row.name), row);
    if (is_new) continue;
    const auto place = [](const ManifestRow& m) { return m.file.empty() ? std::string_view("a plugin") : m.file; };
    failf(Category::usage, "{} '{}' is defined twice, by {} and by {}; a name belongs to one component of its kind",
          row.kind, row.name, place(known->second), place(row));
  }
}

const ManifestRow* Registry::find(std::string_view kind, std::string_view name) const {
  const auto of_kind = rows_.find(kind);
  if (of_kind == rows_.end()) return nullptr;
  const auto row = of_kind->second.find(name);
  return row == of_kind->second.end() ? nullptr : &row->second;
}

std::vector<std::string> Registry::names(std::string_view kind) const {
  std::vector<std::string> out;
  if (const auto of_kind = rows_.find(kind); of_kind != rows_.end()) {
    for (const auto& [name, row] : of_kind->second) out.push_back(name);
  }
  return out;
}

std::vector<std::string> Registry::kinds() const {
  std::vector<std::string> out;
  for (const auto& [kind, rows] : rows_) out.push_back(kind);
  return out;
}

std::vector<ManifestRow> Registry::rows() const {
  std::vector<ManifestRow> out;
  for (const auto& [kind, rows] : rows_) {
    for (const auto& [name, row] : rows) out.push_back(row);
  }
  return out;
}

std::string AnyRef::shown() const {
  if (def == nullptr) return "nothing";
  return fmt::format("{} '{}'{}", def->kind->word, name, origin.written() ? fmt::format(" ({})", origin.text()) : "");
}

void fail_empty_ref(std::string_view kind) {
  failf(Category::internal, "a reference to one of the {} is used, but the config chose none; read the config before building from it",
        kind);
}

std::string_view text(Role r) {
  switch (r) {
    case Role::bits: return "bits";
    case Role::horizon: return "horizon";
    case Role::nuisance: return "nuisance";
    case Role::location: return "location";
  }
  return "bits";
}

}  // namespace lockstep
