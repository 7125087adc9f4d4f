// Checks of the definitions themselves: for contract tests and plugin loading.
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "component/choose.h"
#include "lockstep/component/canonical.h"
#include "lockstep/component/describe.h"
#include "lockstep/component/read.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

bool snake_case(std::string_view s) {
  return !s.empty() && s[0] >= 'a' && s[0] <= 'z' && s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

class Checker {
 public:
  std::vector<std::string> found;

  void line(std::string_view where, std::string message) { found.push_back(fmt::format("{}: {}", where, message)); }

  void fields(std::span<const Field> all, const void* defaults, const std::string& where, std::string_view own_name) {
    std::set<std::string_view> seen;
    for (const Field& f : all) {
      const std::string at = fmt::format("{}.{}", where, f.name);
      if (!snake_case(f.name)) line(at, "a key is snake_case");
      if (is_reserved_key(f.name)) line(at, "id, from, coef and repeat stand beside components");
      if (f.name == "name" && !own_name.empty()) line(at, "'name' chooses the component");
      if (f.name == own_name) line(at, "a key is not called like its component: an override could not tell them apart");
      if (!seen.insert(f.name).second || (!f.one.empty() && !seen.insert(f.one).second)) line(at, "the key is there twice");
      if (f.doc.empty()) line(at, "no documentation");
      if (!f.one.empty() && f.type->form != Form::components) line(at, "singular() is for Many<Def>");
      if (!f.default_component.empty() && f.type->form != Form::component) line(at, "otherwise() is for Ref<Def>");
      only_when(all, f, at);
      range(*f.type, f, member_of(f, defaults), at);
      if (f.type->form == Form::group) fields(f.type->fields(), member_of(f, defaults), at, {});
    }
  }

 private:
  void only_when(std::span<const Field> all, const Field& f, const std::string& at) {
    if (f.only_field.empty()) return;
    const auto other = std::ranges::find(all, f.only_field, &Field::name);
    if (other == all.end()) line(at, fmt::format("only_when names '{}', which is no key here", f.only_field));
  }
  void range(const Type& t, const Field& f, const void* v, const std::string& at) {
    if (f.must_be_written) return;
    double value = 0;
    switch (t.form) {
      case Form::number: value = *static_cast<const double*>(v); break;
      case Form::integer: value = static_cast<double>(*static_cast<const std::int64_t*>(v)); break;
      case Form::optional:
      case Form::list:
      case Form::dict:
        for (std::size_t i = 0; i < t.size(v); ++i) range(*t.element, f, t.at(v, i), at);
        return;
      case Form::variant: return range(*t.alternatives[static_cast<std::size_t>(t.get(v))], f, t.at(v, 0), at);
      default: return;
    }
    if (!f.bounds.contain(value)) {
      line(at, fmt::format("the default {} is not {}; say .required() or give one that is", value, bounds_text(f.bounds)));
    }
  }
};

/// The example, read as an item of a list, must be this component and survive printing and reading.
void check_example(const ManifestRow& row, const Registry& registry, const std::string& where, Checker& out) {
  Diagnostics d;
  const SourceRef source = text_source("example", "- " + std::string(row.def->example) + "\n");
  const Node tree = load_yaml(source, d);
  AnyRef ref;
  Reader r{registry, d};
  if (!d.has_errors() && tree.is_list() && tree.size() == 1) read_component(*row.def->kind, tree.items[0], Place::item, ref, r);
  if (d.has_errors() || ref.def == nullptr) {
    out.line(where, "the example does not read\n" + d.text());
    return;
  }
  if (ref.def != row.def) {
    out.line(where, fmt::format("the example is a '{}'", ref.name));
    return;
  }
  const Type list{.form = Form::component,
                  .size = [](const void*) { return std::size_t{1}; },
                  .at = [](const void* v, std::size_t) { return v; }};
  const Node first = canonical_value(list, &ref);
  const std::string text = canonical_text(first);
  Node again = load_yaml(text_source("canonical", text), d);
  if (!(again == first)) out.line(where, "the canonical form does not load to itself:\n" + text);
  AnyRef second;
  read_component(*row.def->kind, again, Place::single, second, r);
  if (d.has_errors()) {
    out.line(where, "the canonical form does not read\n" + d.text() + text);
  } else if (!(canonical_value(list, &second) == first)) {
    out.line(where, "the config changes when its canonical form is read:\n" + text);
  }
}

}  // namespace

std::vector<std::string> check_fields(std::span<const Field> fields, std::string_view where) {
  Checker c;
  std::set<std::string_view> seen;
  for (const Field& f : fields) {
    if (!snake_case(f.name)) c.line(where, fmt::format("'{}': a key is snake_case", f.name));
    if (f.doc.empty()) c.line(where, fmt::format("'{}': no documentation", f.name));
    if (!seen.insert(f.name).second) c.line(where, fmt::format("'{}' is there twice", f.name));
    if (f.type->form == Form::group) c.fields(f.type->fields(), f.type->create().get(), fmt::format("{}.{}", where, f.name), {});
  }
  return c.found;
}

std::vector<std::string> check_registry(const Registry& registry) {
  Checker c;
  std::set<const KindInfo*> kinds;
  for (const ManifestRow& row : registry.rows()) {
    const std::string where = fmt::format("{}/{}", row.kind, row.name);
    if (row.def->kind->kind != row.kind) {
      c.line(where, fmt::format("defined as one of the {}, but it lies among the {}", row.def->kind->kind, row.kind));
      continue;
    }
    if (!snake_case(row.name)) c.line(where, "a name is snake_case");
    if (row.def->doc.empty()) c.line(where, "no documentation");
    if (row.def->version < 1) c.line(where, "versions count from 1");
    const auto defaults = row.def->create();
    c.fields(row.def->fields, defaults.get(), where, row.name);
    const KindInfo& kind = *row.def->kind;
    if (kind.common != nullptr) {
      for (const Field& f : kind.common->fields()) {
        if (std::ranges::find(row.def->fields, f.name, &Field::name) != row.def->fields.end()) {
          c.line(where, fmt::format("'{}' is a key of every {}", f.name, kind.word));
        }
      }
      if (kinds.insert(&kind).second) {
        const auto common = kind.common->create();
        c.fields(kind.common->fields(), common.get(), fmt::format("{} (common)", row.kind), {});
      }
    }
    check_example(row, registry, where, c);
  }
  return c.found;
}

}  // namespace lockstep
