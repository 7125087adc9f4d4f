// Reads values by their types.
#include "lockstep/component/read.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>

#include "component/choose.h"
#include "component/fields.h"
#include "component/number.h"
#include "lockstep/base/text.h"
#include "lockstep/component/describe.h"

namespace lockstep {
namespace {

bool fail_at(const Node& n, Reader& r, std::string message, std::string note = {}, std::string suggestion = {},
             Site site = {}) {
  r.diagnostics.error(n.origin, r.path, std::move(message), std::move(suggestion), std::move(note), site);
  return false;
}

bool wrong(std::string_view expected, const Node& n, Reader& r, std::string note = {}, Site site = {}) {
  const std::string what = r.path.empty() ? std::string() : fmt::format("'{}': ", r.path);
  return fail_at(n, r, fmt::format("{}expected {}, got {}", what, expected, n.shown()), std::move(note), {}, site);
}

bool check_bounds(const Bounds& b, double value, const Node& n, Reader& r) {
  if (b.contain(value)) return true;
  return fail_at(n, r, fmt::format("'{}' is {}, but must be {}", r.path, n.scalar,
                              value > b.high ? fmt::format("{} {}", b.open_high ? "<" : "<=", b.high) : bounds_text(b)));
}

/// Null is for optional fields; quotes make a text.
bool refuse_non_plain(std::string_view expected, const Node& n, Reader& r) {
  if (n.is_null()) return !wrong(expected, n, r, "null means none, and only optional fields have that: leave the key out for its default");
  if (!n.is_scalar()) return !wrong(expected, n, r);
  if (n.quoted) return !wrong(expected, n, r, "remove the quotes");
  return false;
}

bool read_number(const Bounds& b, const Node& n, double& out, Reader& r) {
  if (refuse_non_plain("a number", n, r)) return false;
  std::string why;
  double value = 0;
  if (!parse_config_double(n.scalar, value, why)) return wrong("a number", n, r, why);
  if (!check_bounds(b, value, n, r)) return false;
  out = value;
  return true;
}

bool read_integer(const Bounds& b, const Node& n, std::int64_t& out, Reader& r) {
  if (refuse_non_plain("an integer", n, r)) return false;
  std::string why;
  std::int64_t value = 0;
  if (!parse_config_int(n.scalar, value, why)) return wrong("an integer", n, r, why);
  if (!check_bounds(b, static_cast<double>(value), n, r)) return false;
  out = value;
  return true;
}

bool read_boolean(const Node& n, bool& out, Reader& r) {
  if (refuse_non_plain("true or false", n, r)) return false;
  if (n.scalar == "true" || n.scalar == "false") {
    out = n.scalar == "true";
    return true;
  }
  const bool other = reads_as_other(n.scalar) && n.scalar.find_first_of("0123456789") == std::string::npos;
  return wrong("true or false", n, r, other ? "yes, no, on, off and other spellings are plain words here" : "");
}

bool read_text(const Node& n, std::string& out, Reader& r) {
  if (n.is_null()) return wrong("a text", n, r, "quote it (\"null\") if the word is meant; leave the key out for its default");
  if (!n.is_scalar()) return wrong("a text", n, r);
  out = n.scalar;
  return true;
}

bool read_path(const Node& n, std::filesystem::path& out, Reader& r) {
  std::string written;
  if (!read_text(n, written, r)) return false;
  std::filesystem::path path(written);
  if (!written.empty() && path.is_relative() && n.origin.written()) path = std::filesystem::path(n.origin.source->folder) / path;
  out = written.empty() ? path : path.lexically_normal();
  return true;
}

bool read_choice(const Type& type, const Node& n, void* out, Reader& r) {
  std::vector<std::string> words;
  for (const Choice& c : type.choices) {
    if (n.is_scalar() && n.scalar == c.name) {
      type.set(out, c.value);
      return true;
    }
    words.emplace_back(c.name);
  }
  const auto near = n.is_scalar() ? nearest(n.scalar, words) : std::nullopt;
  const std::string what = r.path.empty() ? std::string() : fmt::format("'{}': ", r.path);
  return fail_at(n, r, fmt::format("{}expected one of {}, got {}", what, word_list(words), n.shown()), {},
                 near ? std::string(*near) : std::string());
}

/// Whether a node can be of this type at all, judged by its shape.
bool fits(const Type& type, const Node& n) {
  std::string why;
  double number = 0;
  std::int64_t integer = 0;
  switch (type.form) {
    case Form::number: return n.is_scalar() && !n.quoted && parse_config_double(n.scalar, number, why);
    case Form::integer: return n.is_scalar() && !n.quoted && parse_config_int(n.scalar, integer, why);
    case Form::boolean: return n.is_scalar() && !n.quoted && (n.scalar == "true" || n.scalar == "false");
    case Form::choice:
      return n.is_scalar() && std::ranges::find(type.choices, n.scalar, &Choice::name) != type.choices.end();
    case Form::text:
    case Form::path: return n.is_scalar();
    case Form::list: return n.is_list();
    case Form::dict:
    case Form::group: return n.is_map();
    case Form::optional: return n.is_null() || fits(*type.element, n);
    case Form::variant: return std::ranges::any_of(type.alternatives, [&](const Type* t) { return fits(*t, n); });
    case Form::component: return n.is_scalar() || n.is_map();
    case Form::components: return n.is_list() || n.is_map();
    case Form::one_or_many: return n.is_scalar() || n.is_map();
  }
  return false;
}

bool read_variant(const Type& type, const Bounds& b, const Node& n, void* out, Reader& r) {
  for (std::size_t i = 0; i < type.alternatives.size(); ++i) {
    if (!fits(*type.alternatives[i], n)) continue;
    void* held = type.get(out) == static_cast<std::int64_t>(i) ? const_cast<void*>(type.at(out, 0))
                                                                : type.set(out, static_cast<std::int64_t>(i));
    return read_value(*type.alternatives[i], b, n, held, r);
  }
  return wrong(type_text(type), n, r);
}

bool unique_ids(const Node& n, std::span<const AnyRef* const> refs, Reader& r) {
  std::map<std::string, std::size_t> seen;
  bool good = true;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (refs[i]->id.empty()) continue;
    const auto [first, is_new] = seen.emplace(refs[i]->id, i);
    if (is_new) continue;
    const Node* id = n.items[i].find("id");
    good = fail_at(id != nullptr ? *id : n.items[i], r, fmt::format("two items have the id '{}'", refs[i]->id),
                   fmt::format("the first is item {}: an id names one item of its list", first->second));
  }
  return good;
}

bool read_list(const Type& type, const Bounds& b, const Node& n, void* out, Reader& r) {
  const bool components = type.element->form == Form::component;
  if (!n.is_list()) {
    return wrong(components ? fmt::format("a list of {}", type.element->kind().kind) : std::string("a list"), n, r,
                 n.is_null() ? "an empty list is []" : "");
  }
  type.clear(out);
  bool good = true;
  std::vector<const AnyRef*> refs;
  for (std::size_t i = 0; i < n.items.size(); ++i) type.add(out, {});
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    AtKey at(r, std::to_string(i));
    void* item = const_cast<void*>(type.at(out, i));
    if (components) {
      auto* ref = static_cast<AnyRef*>(type.element->add(item, {}));
      good &= read_component(type.element->kind(), n.items[i], Place::item, *ref, r);
      refs.push_back(ref);
    } else {
      if (type.element->form == Form::group) r.section = r.path;
      good &= read_value(*type.element, b, n.items[i], item, r);
    }
  }
  return unique_ids(n, refs, r) && good;
}

bool read_dict(const Type& type, const Bounds& b, const Node& n, void* out, Reader& r) {
  if (!n.is_map()) return wrong("a map", n, r, n.is_null() ? "an empty map is {}" : "");
  type.clear(out);
  bool good = true;
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    AtKey at(r, n.keys[i].text);
    if (type.element->form == Form::group) r.section = r.path;
    good &= read_value(*type.element, b, n.items[i], type.add(out, n.keys[i].text), r);
  }
  return good;
}

/// A map id -> component. `sorted`: kept in the order of the ids.
bool read_entries(const Type& type, const Node& n, bool sorted, void* out, Reader& r) {
  std::vector<std::size_t> order(n.items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (sorted) std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return n.keys[i].text; });
  bool good = true;
  for (const std::size_t i : order) {
    AtKey at(r, n.keys[i].text);
    AnyRef id;
    auto* ref = static_cast<AnyRef*>(type.element->add(type.add(out, {}), {}));
    if (!legal_id(n.keys[i].text)) {
      r.diagnostics.error(n.keys[i].origin, r.path, fmt::format("'{}' is not an id", visible(n.keys[i].text)), {},
                          "an id begins with a letter and goes on with letters, digits, _ and -");
      good = false;
    }
    good &= read_component(type.kind(), n.items[i], Place::entry, *ref, r);
    ref->id = n.keys[i].text;
  }
  return good;
}

bool read_components(const Type& type, const Node& n, void* out, Reader& r) {
  type.clear(out);
  if (n.is_map()) {
    if (n.find("name") != nullptr) {
      return wrong(fmt::format("a list of {}, or a map id -> {}", type.kind().kind, type.kind().word), n, r,
                   fmt::format("one {} is an item: [{{name: ...}}]", type.kind().word));
    }
    return read_entries(type, n, false, out, r);
  }
  if (!read_list(type, {}, n, out, r)) return false;
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    auto* ref = static_cast<AnyRef*>(type.element->add(const_cast<void*>(type.at(out, i)), {}));
    if (ref->id.empty()) ref->id = std::to_string(i);
  }
  return true;
}

bool read_one_or_many(const Type& type, const Node& n, void* out, Reader& r) {
  type.clear(out);
  if (n.is_null()) return true;   // none: how an inherited one is taken away
  if (n.is_map() && n.find("name") == nullptr) return read_entries(type, n, true, out, r);
  auto* ref = static_cast<AnyRef*>(type.element->add(type.add(out, {}), {}));
  const bool good = read_component(type.kind(), n, Place::single, *ref, r);
  ref->id = "main";
  return good;
}

bool read_group(const Type& type, const Node& n, void* out, Reader& r) {
  if (!n.is_map()) return wrong("a map", n, r, n.is_null() ? "leave the key out for its defaults" : "");
  const Target target{type.fields(), out};
  if (!read_fields({&target, 1}, &n, n.origin, {}, r)) return false;
  const std::string problem = type.problem(out);
  if (problem.empty()) return true;
  return fail_at(n, r, r.path.empty() ? problem : fmt::format("{}: {}", r.path, problem));
}

bool read_optional(const Type& type, const Bounds& b, const Node& n, void* out, Reader& r) {
  if (n.is_null()) {
    type.clear(out);
    return true;
  }
  void* held = type.size(out) == 1 ? const_cast<void*>(type.at(out, 0)) : type.add(out, {});
  if (type.element->form == Form::group) r.section = r.path;
  return read_value(*type.element, b, n, held, r);
}

}  // namespace

bool read_value(const Type& type, const Bounds& b, const Node& n, void* out, Reader& r) {
  switch (type.form) {
    case Form::number: return read_number(b, n, *static_cast<double*>(out), r);
    case Form::integer: return read_integer(b, n, *static_cast<std::int64_t*>(out), r);
    case Form::boolean: return read_boolean(n, *static_cast<bool*>(out), r);
    case Form::text: return read_text(n, *static_cast<std::string*>(out), r);
    case Form::path: return read_path(n, *static_cast<std::filesystem::path*>(out), r);
    case Form::choice: return read_choice(type, n, out, r);
    case Form::optional: return read_optional(type, b, n, out, r);
    case Form::list: return read_list(type, b, n, out, r);
    case Form::dict: return read_dict(type, b, n, out, r);
    case Form::variant: return read_variant(type, b, n, out, r);
    case Form::group: return read_group(type, n, out, r);
    case Form::component: return read_component(type.kind(), n, Place::single, *static_cast<AnyRef*>(type.add(out, {})), r);
    case Form::components: return read_components(type, n, out, r);
    case Form::one_or_many: return read_one_or_many(type, n, out, r);
  }
  return false;
}

}  // namespace lockstep
