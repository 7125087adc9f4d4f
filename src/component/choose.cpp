// Which component a written node chooses, before its keys are read.
#include "component/choose.h"

#include <fmt/core.h>

namespace lockstep {

bool is_reserved_key(std::string_view key) { return key == "id" || key == "from" || key == "coef" || key == "repeat"; }

std::vector<std::string_view> keys_beside(const KindInfo& kind, Place place) {
  std::vector<std::string_view> out;
  const bool item = place == Place::item;
  if (item) out.emplace_back("id");
  if (item && kind.beside.from) out.emplace_back("from");
  if (place != Place::single && kind.beside.coef) out.emplace_back("coef");
  if (item && kind.beside.repeat) out.emplace_back("repeat");
  return out;
}

namespace {

/// `{linear: {...}}` and `{linear: }`, beside reserved keys.
bool choose_short(const Node& n, Chosen& c) {
  int found = -1;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    if (is_reserved_key(n.keys[i].text)) continue;
    if (found >= 0) return false;
    found = static_cast<int>(i);
  }
  if (found < 0) return false;
  const auto i = static_cast<std::size_t>(found);
  if (!n.items[i].is_map() && !n.items[i].is_null()) return false;
  c.name = n.keys[i].text;
  c.origin = n.keys[i].origin;
  c.body = n.items[i].is_map() ? &n.items[i] : nullptr;
  c.outer = &n;
  return true;
}

void choose_implied(const KindInfo& kind, const Node& n, Chosen& c) {
  std::string marks;
  for (const Mark& mark : kind.marks) {
    const Key* key = n.find_key(mark.key);
    if (key == nullptr) continue;
    marks += (marks.empty() ? "'" : " and '") + std::string(mark.key) + '\'';
    c.name = mark.component;
    c.origin = key->origin;
  }
  c.body = c.outer = &n;
  if (marks.find(" and ") == std::string::npos) return;
  c.name.clear();
  c.why = fmt::format("this {} has no 'name', and {} mean different ones", kind.word, marks);
  c.note = "write which one with 'name', or keep one of the keys";
}

void explain_missing(const KindInfo& kind, const Node& n, Place place, Chosen& c) {
  c.why = fmt::format("this {} has no 'name'", kind.word);
  Chosen meant;
  if (place != Place::item && choose_short(n, meant)) {
    c.note = fmt::format("write {{name: {}, ...}}: the form '{}: {{...}}' is for items of a list", meant.name, meant.name);
  } else if (place == Place::item && n.keys.size() == 1) {
    c.note = fmt::format("write {{name: {}}}, or a map of its keys: '{}: {{...}}'", n.keys[0].text, n.keys[0].text);
  } else if (place == Place::item) {
    c.note = "an item is a name, {name: x, ...}, or one name with a map of its keys; more keys mean more items: begin each with '-'";
  } else {
    c.note = fmt::format("{} is a name, or a map with 'name' and its keys", with_article(kind.word));
  }
  for (const Mark& mark : kind.marks) c.note += fmt::format("\n'{}' without a name means '{}'", mark.key, mark.component);
}

}  // namespace

Chosen choose(const KindInfo& kind, const Node& n, Place place) {
  Chosen c;
  c.origin = n.origin;
  if (n.is_scalar()) {
    c.name = n.scalar;
    if (c.name.empty()) c.why = fmt::format("an empty text names no {}", kind.word);
    return c;
  }
  if (!n.is_map()) {
    c.why = fmt::format("expected a {}, got {}", kind.word, n.shown());
    c.note = fmt::format("{} is a name, or a map with 'name' and its keys", with_article(kind.word));
    return c;
  }
  if (const Node* name = n.find("name")) {
    c.body = c.outer = &n;
    c.origin = name->origin;
    if (name->is_scalar() && !name->scalar.empty()) {
      c.name = name->scalar;
    } else {
      c.why = fmt::format("the 'name' of {} is a text, got {}", with_article(kind.word), name->shown());
    }
    return c;
  }
  if (place == Place::item && choose_short(n, c)) return c;
  choose_implied(kind, n, c);
  if (c.name.empty() && c.why.empty()) explain_missing(kind, n, place, c);
  return c;
}

}  // namespace lockstep
