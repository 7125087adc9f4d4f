// Components and fields in words: for `components ls`, `components describe` and the generated reference pages.
#pragma once

#include <string>
#include <string_view>

#include "lockstep/base/json.h"
#include "lockstep/component/registry.h"

namespace lockstep {

/// `double`, `list of integer`, `mean | sum`, `schedule`, `integer or list of integer`, ...
std::string type_text(const Type& type);
/// `in [0, 1]`, `> 0`, `>= 1`; empty without limits.
std::string bounds_text(const Bounds& b);
/// The field's default on one line, from a struct of defaults; `required` when it must be written.
std::string default_text(const Field& f, const void* defaults);

/// One component: doc, keys (type, default, range, role), common keys of its kind, example, file.
std::string describe(const ManifestRow& row);
Json describe_json(const ManifestRow& row);
/// Every component of `kind` (empty: of every kind), a line each.
std::string list_components(const Registry& registry, std::string_view kind = {});
Json list_components_json(const Registry& registry, std::string_view kind = {});
/// A Markdown table of fields, for generated pages.
std::string fields_markdown(std::span<const Field> fields, const void* defaults);

}  // namespace lockstep
