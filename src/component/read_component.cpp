// Reads a component: its name first, then the keys of that one only.
#include <fmt/core.h>

#include "component/choose.h"
#include "component/fields.h"
#include "component/number.h"
#include "lockstep/base/text.h"

namespace lockstep {

std::string with_article(std::string_view word) {
  const bool vowel = !word.empty() && std::string_view("aeiou").find(word.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", word);
}

bool legal_id(std::string_view id) {
  if (id.empty() || !((id[0] >= 'a' && id[0] <= 'z') || (id[0] >= 'A' && id[0] <= 'Z'))) return false;
  return id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string_view::npos;
}

namespace {

bool fail_at(const Node& n, Reader& r, std::string message, std::string note = {}, Site site = {}) {
  r.diagnostics.error(n.origin, r.path, std::move(message), {}, std::move(note), site);
  return false;
}

bool read_id(const Node& n, AnyRef& out, Reader& r) {
  if (!n.is_scalar() || !legal_id(n.scalar)) {
    return fail_at(n, r, fmt::format("{} is not an id", n.shown()), "an id begins with a letter and goes on with letters, digits, _ and -");
  }
  if (n.scalar == "name" || is_reserved_key(n.scalar)) return fail_at(n, r, fmt::format("'{}' cannot be an id: it is a key of components", n.scalar));
  out.id = n.scalar;
  return true;
}

bool read_from(const Node& n, AnyRef& out, Reader& r) {
  const auto one = [&](const Node& item) {
    if (!item.is_scalar()) return fail_at(item, r, fmt::format("'from' names ids, got {}", item.shown()));
    out.from.push_back(item.scalar);
    return true;
  };
  if (!n.is_list()) return one(n);
  bool good = true;
  for (const Node& item : n.items) good &= one(item);
  return good;
}

bool read_coef(const Node& n, AnyRef& out, Reader& r) {
  if (!read_value(kType<double>, Bounds{}, n, &out.coef, r)) return false;
  return out.coef != 0 || fail_at(n, r, fmt::format("'{}' is 0: the loss would train nothing", r.path), "to measure a loss without training it, name it under metrics");
}

bool read_reserved(const KindInfo& kind, const Node& outer, Place place, AnyRef& out, Reader& r) {
  if (place == Place::single) return true;
  bool good = true;
  const auto allowed = keys_beside(kind, place);
  for (std::size_t i = 0; i < outer.keys.size(); ++i) {
    const std::string& key = outer.keys[i].text;
    const Node& value = outer.items[i];
    AtKey at(r, key);
    if (is_reserved_key(key) && std::ranges::find(allowed, key) == allowed.end()) {
      std::vector<std::string> words(allowed.begin(), allowed.end());
      good = fail_at(value, r, fmt::format("'{}' has no meaning beside {}", key, with_article(kind.word)),
                     words.empty() ? std::string() : fmt::format("what may stand beside it here: {}", word_list(words)));
      continue;
    }
    if (key == "coef") good &= read_coef(value, out, r);
    if (key == "id") good &= read_id(value, out, r);
    if (key == "from") good &= read_from(value, out, r);
    if (key == "repeat") good &= read_value(kType<std::int64_t>, Bounds{.low = 1, .high = 1e4}, value, &out.repeat, r);
  }
  return good;
}

bool report_unregistered(const KindInfo& kind, const Chosen& c, Reader& r) {
  const std::vector<std::string> names = r.registry.names(kind.kind);
  const auto word = nearest(c.name, names);
  std::string note = names.empty() ? fmt::format("no {} is registered", kind.word)
                                   : fmt::format("registered {}: {}", kind.kind, word_list(names));
  for (const std::string& other : r.registry.kinds()) {
    const ManifestRow* row = other == kind.kind ? nullptr : r.registry.find(other, c.name);
    if (row != nullptr) note += fmt::format("\n'{}' is {}", c.name, with_article(row->def->kind->word));
  }
  r.diagnostics.error(c.origin, r.path, fmt::format("{} '{}' is not in the registry", kind.word, visible(c.name)),
                      word ? std::string(*word) : std::string(), note);
  return false;
}

}  // namespace

bool read_component(const KindInfo& kind, const Node& n, Place place, AnyRef& out, Reader& r) {
  const Chosen c = choose(kind, n, place);
  if (c.name.empty()) {
    r.diagnostics.error(c.origin, r.path, c.why, {}, c.note);
    return false;
  }
  const ManifestRow* row = r.registry.find(kind.kind, c.name);
  if (row == nullptr) return report_unregistered(kind, c, r);
  out.def = row->def;
  out.name = row->name;
  out.origin = c.origin;
  const std::shared_ptr<void> config = row->def->create();
  std::vector<Target> targets = {{row->def->fields, config.get()}};
  std::shared_ptr<void> common;
  if (kind.common != nullptr) {
    common = kind.common->create();
    targets.push_back({kind.common->fields(), common.get()});
  }
  std::vector<std::string_view> beside;
  if (c.body != nullptr && c.body == c.outer) {
    if (c.body->find("name") != nullptr) beside.emplace_back("name");
    for (const Key& key : c.body->keys)   // those that do not belong here are reported with the others beside it
      if (place != Place::single && is_reserved_key(key.text)) beside.emplace_back(key.text);
  }
  bool good = c.outer == nullptr || read_reserved(kind, *c.outer, place, out, r);
  const std::string section = std::exchange(r.section, fmt::format("{} '{}'", kind.word, c.name));
  const Origin& at = c.origin;
  const bool fields_good = read_fields(targets, c.body, at, beside, r);
  good &= fields_good;
  if (fields_good) {
    std::string problem = row->def->problem(config.get());
    if (problem.empty() && common != nullptr) problem = kind.common->problem(common.get());
    if (!problem.empty()) {
      r.diagnostics.error(at, r.path, fmt::format("{}: {}", r.section, problem));
      good = false;
    }
  }
  r.section = section;
  out.config = config;
  out.common = common;
  return good;
}

}  // namespace lockstep
