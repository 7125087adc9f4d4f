// Components and fields in words.
#include "lockstep/component/describe.h"

#include <fmt/core.h>

#include "component/fields.h"
#include "lockstep/component/canonical.h"

namespace lockstep {

std::string type_text(const Type& type) {
  switch (type.form) {
    case Form::number: return "number";
    case Form::integer: return "integer";
    case Form::boolean: return "boolean";
    case Form::text: return "text";
    case Form::path: return "path";
    case Form::optional: return fmt::format("{} or null", type_text(*type.element));
    case Form::list: return fmt::format("list of {}", type_text(*type.element));
    case Form::dict: return fmt::format("map to {}", type_text(*type.element));
    case Form::group: return "map of keys";
    case Form::component: return std::string(type.kind().word);
    case Form::components: return fmt::format("list of {}", type.kind().word);
    case Form::one_or_many: return fmt::format("{}, or map id -> {}", type.kind().word, type.kind().word);
    case Form::choice:
    case Form::variant: break;
  }
  std::string out;
  for (const Choice& c : type.choices) out += (out.empty() ? "" : " | ") + std::string(c.name);
  for (const Type* t : type.alternatives) out += (out.empty() ? "" : " or ") + type_text(*t);
  return out;
}

std::string bounds_text(const Bounds& b) {
  const bool low = b.low > -std::numeric_limits<double>::infinity();
  const bool high = b.high < 9007199254740991.0;  // 2^53 - 1 is as far as integers go, not a limit of the key
  if (low && high) return fmt::format("in {}{}, {}{}", b.open_low ? '(' : '[', b.low, b.high, b.open_high ? ')' : ']');
  if (low) return fmt::format("{} {}", b.open_low ? ">" : ">=", b.low);
  if (high) return fmt::format("{} {}", b.open_high ? "<" : "<=", b.high);
  return {};
}

std::string default_text(const Field& f, const void* defaults) {
  if (f.must_be_written) return "required";
  if (!f.default_component.empty()) return std::string(f.default_component);
  if (f.type->form == Form::component) return "required";
  if (f.type->form == Form::group) return "its own defaults";
  const Node n = canonical_value(*f.type, member_of(f, defaults));
  return n.is_scalar() && n.scalar.empty() ? std::string("\"\"") : one_line(n);
}

namespace {

std::string limits(const Field& f) {
  std::string out = bounds_text(f.bounds);
  if (!f.only_field.empty()) out += fmt::format("{}only when {} is {}", out.empty() ? "" : ", ", f.only_field, f.only_value);
  return out;
}

void describe_fields(std::span<const Field> fields, const void* defaults, int indent, std::string& out) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  for (const Field& f : fields) {
    out += fmt::format("{}{}: {}", pad, f.name, type_text(*f.type));
    if (!limits(f).empty()) out += ", " + limits(f);
    out += fmt::format("  [{}; {}]\n{}    {}\n", default_text(f, defaults), text(f.role), pad, f.doc);
    if (f.type->form == Form::group) describe_fields(f.type->fields(), member_of(f, defaults), indent + 4, out);
  }
}

Json field_json(const Field& f, const void* defaults) {
  Json out = Json::object();
  out.set("name", f.name);
  out.set("type", type_text(*f.type));
  out.set("doc", f.doc);
  out.set("role", text(f.role));
  out.set("required", default_text(f, defaults) == "required");
  out.set("default", default_text(f, defaults) == "required" ? Json() : Json(default_text(f, defaults)));
  out.set("range", bounds_text(f.bounds).empty() ? Json() : Json(bounds_text(f.bounds)));
  if (f.type->form == Form::group) {
    Json inner = Json::array();
    for (const Field& g : f.type->fields()) inner.push(field_json(g, member_of(f, defaults)));
    out.set("fields", std::move(inner));
  }
  return out;
}

}  // namespace

std::string describe(const ManifestRow& row) {
  const ComponentDef& d = *row.def;
  std::string out = fmt::format("{} '{}' (version {})\n  {}\n", d.kind->word, row.name, d.version, d.doc);
  const auto defaults = d.create();
  out += d.fields.empty() ? "\nno keys\n" : "\nkeys\n";
  describe_fields(d.fields, defaults.get(), 2, out);
  if (d.kind->common != nullptr) {
    out += fmt::format("\nkeys of every {}\n", d.kind->word);
    const auto common = d.kind->common->create();
    describe_fields(d.kind->common->fields(), common.get(), 2, out);
  }
  out += fmt::format("\nexample\n  - {}\n", d.example);
  if (!row.file.empty()) out += fmt::format("\nfile\n  {}\n", row.file);
  return out;
}

Json describe_json(const ManifestRow& row) {
  const ComponentDef& d = *row.def;
  Json out = Json::object();
  out.set("kind", row.kind).set("name", row.name).set("doc", d.doc).set("version", d.version);
  out.set("example", d.example).set("file", row.file);
  Json fields = Json::array();
  const auto defaults = d.create();
  for (const Field& f : d.fields) fields.push(field_json(f, defaults.get()));
  out.set("fields", std::move(fields));
  Json common = Json::array();
  if (d.kind->common != nullptr) {
    const auto shared = d.kind->common->create();
    for (const Field& f : d.kind->common->fields()) common.push(field_json(f, shared.get()));
  }
  out.set("common", std::move(common));
  return out;
}

std::string list_components(const Registry& registry, std::string_view kind) {
  std::string out;
  std::string last;
  for (const ManifestRow& row : registry.rows()) {
    if (!kind.empty() && row.kind != kind) continue;
    if (row.kind != last) {
      if (!last.empty()) out += '\n';
      out += fmt::format("{}\n", row.kind);
      last = row.kind;
    }
    out += fmt::format("  {:<20} {}\n", row.name, row.def->doc);
  }
  return out;
}

Json list_components_json(const Registry& registry, std::string_view kind) {
  Json out = Json::array();
  for (const ManifestRow& row : registry.rows()) {
    if (kind.empty() || row.kind == kind) out.push(describe_json(row));
  }
  return out;
}

std::string fields_markdown(std::span<const Field> fields, const void* defaults) {
  std::string out = "| key | type | default | range | role | meaning |\n|---|---|---|---|---|---|\n";
  const auto cell = [](std::string s) {
    for (std::size_t at = s.find('|'); at != std::string::npos; at = s.find('|', at + 2)) s.insert(at, "\\");
    return s;
  };
  for (const Field& f : fields) {
    out += fmt::format("| `{}` | {} | `{}` | {} | {} | {} |\n", f.name, cell(type_text(*f.type)),
                       cell(default_text(f, defaults)), cell(limits(f)), text(f.role), cell(std::string(f.doc)));
  }
  return out;
}

}  // namespace lockstep
