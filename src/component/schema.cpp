// JSON Schema of configs.
#include "lockstep/component/schema.h"

#include <cmath>
#include <set>

#include <fmt/core.h>

#include "component/choose.h"
#include "component/fields.h"
#include "lockstep/component/canonical.h"

namespace lockstep {
namespace {

class Writer {
 public:
  explicit Writer(const Registry& registry) : registry_(registry) {}

  Json type(const Type& t, const Bounds& b) {
    switch (t.form) {
      case Form::number: return or_reference(numeric("number", b));
      case Form::integer: return or_reference(numeric("integer", b));
      case Form::boolean: return or_reference(Json::object().set("type", "boolean"));
      case Form::text:
      case Form::path: return scalar_text();
      case Form::choice: return or_reference(choices(t));
      case Form::optional: return any_of({type(*t.element, b), Json::object().set("type", "null")});
      case Form::list: return or_reference(array(t.element->form == Form::component ? item(t.element->kind()) : type(*t.element, b)));
      case Form::dict: return or_reference(Json::object().set("type", "object").set("additionalProperties", type(*t.element, b)));
      case Form::group: return or_reference(group(t.fields(), t.create().get()));
      case Form::component: return single(t.kind());
      case Form::components: return any_of({array(item(t.kind())), ids(t.kind()), reference(), Json::object().set("type", "null")});
      case Form::one_or_many: return any_of({single(t.kind()), ids(t.kind()), Json::object().set("type", "null")});
      case Form::variant: break;
    }
    Json::Array all;
    for (const Type* a : t.alternatives) all.push_back(type(*a, b));
    return any_of(std::move(all));
  }

  Json group(std::span<const Field> fields, const void* defaults) {
    Json out = Json::object().set("type", "object");
    Json properties = Json::object();
    Json ignored = Json::array();   // what is required: a file that others extend, or that extends others, may leave it out
    Json::Array exclusive;
    add(fields, defaults, properties, ignored);
    for (const Field& f : fields)
      if (!f.one.empty()) exclusive.push_back(not_both(f.one, f.name));
    out.set("properties", std::move(properties));
    if (!exclusive.empty()) out.set("allOf", Json(std::move(exclusive)));
    return out.set("additionalProperties", false);
  }

  /// The object form of a component, with the keys that may stand beside it in `place`.
  Json object(const ManifestRow& row, bool with_name, Place place) {
    Json properties = Json::object();
    Json required = Json::array();
    if (with_name) {
      properties.set("name", Json::object().set("const", row.name));
      required.push("name");
    }
    add_beside(*row.def->kind, place, properties);
    const auto defaults = row.def->create();
    add(row.def->fields, defaults.get(), properties, required);
    if (row.def->kind->common != nullptr) {
      const auto common = row.def->kind->common->create();
      add(row.def->kind->common->fields(), common.get(), properties, required);
    }
    Json out = Json::object().set("type", "object").set("description", row.def->doc).set("properties", std::move(properties));
    if (required.size() > 0) out.set("required", std::move(required));
    return out.set("additionalProperties", false);
  }

  /// Definitions of every kind that was named, and of those that these name.
  Json definitions() {
    Json out = Json::object();
    while (!wanted_.empty()) {
      const std::string kind = *wanted_.begin();
      wanted_.erase(wanted_.begin());
      if (!made_.insert(kind).second) continue;
      out.set(kind + ".single", alternatives(kind, Place::single));
      out.set(kind + ".entry", alternatives(kind, Place::entry));
      out.set(kind + ".item", alternatives(kind, Place::item));
    }
    return out;
  }

 private:
  static Json any_of(Json::Array all) { return Json::object().set("anyOf", Json(std::move(all))); }
  static Json array(Json items) { return Json::object().set("type", "array").set("items", std::move(items)); }
  static Json reference() { return Json::object().set("type", "string").set("pattern", "\\$\\{.*\\}"); }
  static Json or_reference(Json value) { return any_of({std::move(value), reference()}); }
  /// Of a singular and its plural one may be written; null counts as not written.
  static Json not_both(std::string_view one, std::string_view many) {
    const Json written = Json::object().set("not", Json::object().set("type", "null"));
    return Json::object().set("not", Json::object()
                                         .set("required", Json(Json::Array{Json(one), Json(many)}))
                                         .set("properties", Json::object().set(one, written).set(many, written)));
  }
  /// A text field takes any scalar as it is written.
  static Json scalar_text() {
    return Json::object().set("type", Json(Json::Array{"string", "number", "boolean"}));
  }
  static Json numeric(std::string_view word, const Bounds& b) {
    Json out = Json::object().set("type", word);
    if (std::isfinite(b.low)) out.set(b.open_low ? "exclusiveMinimum" : "minimum", b.low);
    if (std::isfinite(b.high)) out.set(b.open_high ? "exclusiveMaximum" : "maximum", b.high);
    return out;
  }
  static Json choices(const Type& t) {
    Json words = Json::array();
    for (const Choice& c : t.choices) words.push(c.name);
    return Json::object().set("enum", std::move(words));
  }
  Json definition(const std::string& kind, std::string_view form) {
    wanted_.insert(kind);
    return Json::object().set("$ref", fmt::format("#/$defs/{}.{}", kind, form));
  }
  Json single(const KindInfo& k) { return definition(std::string(k.kind), "single"); }
  Json entry(const KindInfo& k) { return definition(std::string(k.kind), "entry"); }
  Json item(const KindInfo& k) { return definition(std::string(k.kind), "item"); }
  Json ids(const KindInfo& k) {
    return Json::object().set("type", "object").set("additionalProperties", entry(k));
  }
  static void add_beside(const KindInfo& kind, Place place, Json& properties) {
    for (const std::string_view key : keys_beside(kind, place)) {
      if (key == "from") properties.set(key, Json::object().set("type", Json(Json::Array{"string", "array"})));
      else if (key == "coef") properties.set(key, or_reference(Json::object().set("type", "number")));
      else if (key == "repeat") properties.set(key, or_reference(Json::object().set("type", "integer").set("minimum", 1)));
      else properties.set(key, Json::object().set("type", "string"));
    }
  }

  void add(std::span<const Field> fields, const void* defaults, Json& properties, Json& required) {
    for (const Field& f : fields) {
      Json p = type(*f.type, f.bounds);
      p.set("description", f.doc);
      const bool must = default_text_is_required(f);
      if (must && f.one.empty()) required.push(f.name);
      if (!must && f.type->form != Form::group && f.default_component.empty()) {
        p.set("default", to_json(canonical_value(*f.type, member_of(f, defaults))));
      } else if (!f.default_component.empty()) {
        p.set("default", f.default_component);
      }
      properties.set(f.name, std::move(p));
      if (!f.one.empty()) properties.set(f.one, entry(f.type->kind()).set("description", f.doc));
    }
  }
  static bool default_text_is_required(const Field& f) {
    return f.must_be_written || (f.type->form == Form::component && f.default_component.empty());
  }

  /// The ways to write a component of a kind. A map without `name` is a part of one, which another file completes: its
  /// keys are those of any component of the kind.
  Json alternatives(const std::string& kind, Place place) {
    Json::Array all;
    Json names = Json::array();
    Json parts = Json::object();
    std::map<std::string, Json::Array> keys;
    for (const std::string& name : registry_.names(kind)) {
      const ManifestRow& row = *registry_.find(kind, name);
      names.push(name);
      all.push_back(object(row, true, place));
      if (place == Place::item) {
        Json shape = Json::object().set("type", "object");
        Json properties = Json::object();
        properties.set(name, any_of({object(row, false, Place::single), Json::object().set("type", "null")}));
        add_beside(*row.def->kind, place, properties);
        shape.set("properties", std::move(properties)).set("required", Json(Json::Array{Json(name)}));
        all.push_back(shape.set("additionalProperties", false));
      }
      const Json whole = object(row, false, place);
      for (const auto& [key, value] : whole.at("properties").members()) {
        Json::Array& ways = keys[key];
        if (std::ranges::find(ways, value) == ways.end()) ways.push_back(value);
      }
      for (const Mark& mark : row.def->kind->marks) {
        if (mark.component != name) continue;
        Json implied = whole;
        all.push_back(implied.set("required", Json(Json::Array{Json(mark.key)})));
      }
    }
    if (all.empty()) return Json(false);
    for (auto& [key, ways] : keys) parts.set(key, ways.size() == 1 ? ways.front() : any_of(std::move(ways)));
    if (place != Place::item)
      all.push_back(Json::object().set("type", "object").set("properties", std::move(parts)).set("additionalProperties", false));
    all.insert(all.begin(), Json::object().set("enum", std::move(names)));
    all.push_back(reference());
    return any_of(std::move(all));
  }

  const Registry& registry_;
  std::set<std::string> wanted_, made_;
};

}  // namespace

Json schema_of(const Type& root, const Registry& registry) {
  Writer w(registry);
  const auto defaults = root.create();
  Json body = w.group(root.fields(), defaults.get());
  Json& properties = body["properties"];
  properties.set("extends", Json::object().set("description", "Files that this one builds on, relative to it; later ones win."));
  properties.set("vars", Json::object().set("type", "object").set("description", "Values for references ${vars.x}."));
  Json out = Json::object().set("$schema", "https://json-schema.org/draft/2020-12/schema");
  for (const auto& [key, value] : body.members()) out.set(key, value);
  return out.set("$defs", w.definitions());
}

Json component_schema(const ManifestRow& row, const Registry& registry) {
  Writer w(registry);
  Json out = Json::object().set("$schema", "https://json-schema.org/draft/2020-12/schema");
  const Json body = w.object(row, true, Place::single);
  for (const auto& [key, value] : body.members()) out.set(key, value);
  return out.set("$defs", w.definitions());
}

}  // namespace lockstep
