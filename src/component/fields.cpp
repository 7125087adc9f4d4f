// Reading a map key by key; shared by groups and components.
#include "component/fields.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "component/choose.h"
#include "lockstep/base/text.h"
#include "lockstep/component/canonical.h"

namespace lockstep {

std::string word_list(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 40) return out + fmt::format(", and {} more", words.size() - i);
    out += (i > 0 ? ", " : "") + words[i];
  }
  return out;
}

std::string value_text(const Type& type, const void* value) {
  Node n = canonical_value(type, value);
  return n.is_scalar() ? n.scalar : one_line(n);
}

namespace {

std::string in_section(const Reader& r) { return r.section.empty() ? "at the top level" : "in " + r.section; }

/// The path of a key of this name in a section below, or in what every component of a kind accepts; empty: nowhere.
std::string elsewhere(std::span<const Field> fields, std::string_view key, const std::string& path) {
  for (const Field& f : fields) {
    const std::string at = key_path(path, f.one.empty() ? f.name : f.one);
    std::span<const Field> inner;
    if (f.type->form == Form::group) inner = f.type->fields();
    const bool chosen = f.type->form == Form::component || f.type->form == Form::components;
    if (chosen && f.type->kind().common != nullptr) inner = f.type->kind().common->fields();
    if (std::ranges::find(inner, key, &Field::name) != inner.end()) return key_path(at, key);
    if (f.type->form != Form::group) continue;
    if (std::string below = elsewhere(inner, key, at); !below.empty()) return below;
  }
  return {};
}

/// Returns the key that was probably meant, or nothing.
std::string report_unknown(std::span<const Target> targets, std::span<const std::string_view> beside, const Key& key,
                           Reader& r) {
  std::vector<std::string> words;
  for (const Target& t : targets) {
    for (const Field& f : t.fields) {
      words.emplace_back(f.name);
      if (!f.one.empty()) words.emplace_back(f.one);
    }
  }
  std::string note = words.empty() ? std::string("no keys are accepted here") : "accepted keys: " + word_list(words);
  for (const std::string_view b : beside) words.emplace_back(b);
  std::string suggestion;
  const auto word = nearest(key.text, words);
  if (word) {
    // An override names a whole path: so does the suggestion.
    const bool from_override = key.origin.source && key.origin.source->kind == Source::Kind::override_;
    suggestion = from_override ? key_path(r.path, *word) : std::string(*word);
  }
  for (const Target& t : targets) {
    const std::string there = word ? std::string() : elsewhere(t.fields, key.text, r.path);
    if (!there.empty()) suggestion = there;
  }
  if (is_reserved_key(key.text)) {
    note = fmt::format("'{}' stands beside a component that is an item of a list\n", key.text) + note;
  }
  r.diagnostics.error(key.origin, key_path(r.path, key.text),
                      fmt::format("unknown key '{}' {}", visible(key.text), in_section(r)), suggestion, note);
  return word ? std::string(*word) : std::string();
}

/// One component under the singular key of a Many field.
bool read_one(const Field& f, const Node& n, void* out, Reader& r) {
  f.type->clear(out);
  auto* ref = static_cast<AnyRef*>(f.type->element->add(f.type->add(out, {}), {}));
  const bool good = read_component(f.type->kind(), n, Place::entry, *ref, r);
  ref->id = "main";
  return good;
}

bool read_default(const Field& f, void* out, Reader& r) {
  const Node name = Node::make_scalar(std::string(f.default_component));
  return read_value(*f.type, f.bounds, name, out, r);
}

bool check_count(const Field& f, const Node& n, void* out, Reader& r) {
  if (f.type->size == nullptr || (f.min_items == 0 && f.max_items == std::numeric_limits<std::size_t>::max())) return true;
  const std::size_t size = f.type->size(out);
  if (size >= f.min_items && size <= f.max_items) return true;
  const std::string rule = f.max_items == std::numeric_limits<std::size_t>::max() ? fmt::format("at least {}", f.min_items)
                           : f.min_items == f.max_items                           ? fmt::format("exactly {}", f.min_items)
                                                       : fmt::format("{} to {}", f.min_items, f.max_items);
  r.diagnostics.error(n.origin, r.path, fmt::format("'{}' has {} item{}, but must have {}", r.path, size, size == 1 ? "" : "s", rule));
  return false;
}

bool read_written(const Field& f, const Node& n, bool as_one, void* value, Reader& r) {
  AtKey at(r, as_one ? f.one : f.name);
  void* member = f.member(value);
  if (as_one) return read_one(f, n, member, r);
  if (f.type->form == Form::group) r.section = r.path;
  return read_value(*f.type, f.bounds, n, member, r) && check_count(f, n, member, r);
}

bool check_only_when(std::span<const Field> fields, const Field& f, const Key& key, const void* value, Reader& r) {
  const auto other = std::ranges::find(fields, f.only_field, &Field::name);
  if (f.only_field.empty() || other == fields.end()) return true;
  const std::string is = value_text(*other->type, member_of(*other, value));
  if (is == f.only_value) return true;
  r.diagnostics.error(key.origin, key_path(r.path, f.name),
                      fmt::format("'{}' has no effect: '{}' is '{}', and it acts only when that is '{}'", f.name,
                                  f.only_field, is, f.only_value),
                      {}, fmt::format("remove it, or set {}: {}", key_path(r.path, f.only_field), f.only_value));
  return false;
}

/// Whether the field's default has fewer items than it must.
bool too_few(const Field& f, void* value) {
  return f.min_items > 0 && f.type->size != nullptr && f.type->size(f.member(value)) < f.min_items;
}

/// `meant`: keys that a misspelt one stands for, so that they are not reported as missing too.
bool read_target(const Target& t, const Node* n, const Origin& at, const std::set<std::string>& meant, Reader& r) {
  bool good = true;
  for (const Field& f : t.fields) {
    const Node* value = n != nullptr ? n->find(f.name) : nullptr;
    const Node* one = n != nullptr && !f.one.empty() ? n->find(f.one) : nullptr;
    if (value != nullptr && one != nullptr) {   // null takes an inherited spelling away
      if (one->is_null()) {
        one = nullptr;
      } else if (value->is_null()) {
        value = nullptr;
      }
    }
    if (value != nullptr && one != nullptr) {
      // Where one of them came with `extends`, the file that the user works on is the later one.
      const Origin &short_at = n->find_key(f.one)->origin, &long_at = n->find_key(f.name)->origin;
      const bool short_first = short_at < long_at;
      r.diagnostics.error(short_first ? long_at : short_at, key_path(r.path, short_first ? f.name : f.one),
                          fmt::format("'{}' and '{}' are both written", f.one, f.name), {},
                          fmt::format("the other stands at {}\n'{}: x' is short for one of '{}' with the id main: keep "
                                      "one of them (null takes an inherited one away)",
                                      (short_first ? short_at : long_at).text(), f.one, f.name));
      good = false;
      continue;
    }
    if (value != nullptr || one != nullptr) {
      good &= read_written(f, value != nullptr ? *value : *one, one != nullptr, t.value, r);
    } else if (!f.default_component.empty()) {
      good &= read_default(f, f.member(t.value), r);
    } else if (meant.contains(std::string(f.name)) || meant.contains(std::string(f.one))) {
      good = false;
    } else if (f.type->form == Form::group) {
      // A section that is not written has its keys' defaults, and may lack one that has none.
      AtKey inner(r, f.name);
      r.section = r.path;
      good &= read_value(*f.type, f.bounds, Node::make_map(at), f.member(t.value), r);
    } else if (f.must_be_written || f.type->form == Form::component || too_few(f, t.value)) {
      const std::string name = f.one.empty() ? std::string(f.name) : fmt::format("{}' or '{}", f.one, f.name);
      r.diagnostics.error(at, key_path(r.path, f.name), fmt::format("missing key '{}' {}", name, in_section(r)), {},
                          fmt::format("{}: {}", f.name, f.doc));
      good = false;
    }
  }
  // After all values are there.
  for (const Field& f : t.fields) {
    const Key* key = n != nullptr && good ? n->find_key(f.name) : nullptr;
    if (key != nullptr) good &= check_only_when(t.fields, f, *key, t.value, r);
  }
  return good;
}

}  // namespace

bool read_fields(std::span<const Target> targets, const Node* n, const Origin& at,
                 std::span<const std::string_view> beside, Reader& r) {
  bool good = true;
  std::set<std::string> meant;
  for (std::size_t i = 0; n != nullptr && i < n->keys.size(); ++i) {
    const std::string& key = n->keys[i].text;
    const bool known = std::ranges::find(beside, key) != beside.end() ||
                       std::ranges::any_of(targets, [&](const Target& t) {
                         return std::ranges::any_of(t.fields, [&](const Field& f) {
                           return f.name == key || (!f.one.empty() && f.one == key);
                         });
                       });
    if (known) continue;
    meant.insert(report_unknown(targets, beside, n->keys[i], r));
    good = false;
  }
  meant.erase(std::string());
  for (const Target& t : targets) good &= read_target(t, n, at, meant, r);
  return good;
}

}  // namespace lockstep
