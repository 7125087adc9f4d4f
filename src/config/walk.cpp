// Walking a tree by paths in which an item may be named by its index, its id or its component.
#include "config/walk.h"

#include <algorithm>

#include <fmt/core.h>

#include "lockstep/base/text.h"
#include "lockstep/config/compose.h"

namespace lockstep {

bool is_reserved(std::string_view key) { return key == "id" || key == "from" || key == "coef" || key == "repeat"; }

int short_form(const Node& item) {
  int found = -1;
  for (std::size_t i = 0; i < item.keys.size(); ++i) {
    if (item.keys[i].text == "name") return -1;
    if (is_reserved(item.keys[i].text)) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  if (found < 0) return -1;
  const Node& value = item.items[static_cast<std::size_t>(found)];
  return value.is_map() || value.is_null() ? found : -1;
}

std::string_view item_component(const Node& item) {
  if (item.is_scalar()) return item.scalar;
  if (!item.is_map()) return {};
  if (const Node* name = item.find("name"); name != nullptr && name->is_scalar()) return name->scalar;
  const int i = short_form(item);
  return i < 0 ? std::string_view() : std::string_view(item.keys[static_cast<std::size_t>(i)].text);
}

namespace {

std::string_view item_id(const Node& item) {
  const Node* id = item.find("id");
  return id != nullptr && id->is_scalar() ? std::string_view(id->scalar) : std::string_view();
}

bool is_index(std::string_view s) {
  if (s.starts_with('-')) s.remove_prefix(1);
  return !s.empty() && s.size() < 10 && s.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

int item_index(const Node& list, const std::string& segment, std::string& why, std::string& near) {
  const auto size = static_cast<int>(list.size());
  if (is_index(segment)) {
    const int given = static_cast<int>(*parse_int(segment));
    const int index = given < 0 ? given + size : given;
    if (index >= 0 && index < size) return index;
    why = size == 0 ? "the list is empty"
                    : fmt::format("the list has {} item{}, so an index lies in [{}, {}]", size, size == 1 ? "" : "s",
                                  -size, size - 1);
    return -1;
  }
  std::vector<std::string> words;
  int found = -1;
  int count = 0;
  for (int i = 0; i < size; ++i) {
    const Node& item = list.items[static_cast<std::size_t>(i)];
    if (item_id(item) == segment) return i;
    if (!item_id(item).empty()) words.emplace_back(item_id(item));
    if (item_component(item) == segment && count++ == 0) found = i;
    if (!item_component(item).empty()) words.emplace_back(item_component(item));
  }
  if (count == 1) return found;
  if (count > 1) {
    why = fmt::format("{} items are called '{}': use an index, or give them ids", count, segment);
    return -1;
  }
  why = "no item has that id or component name";
  if (const auto word = nearest(segment, words)) near = *word;
  return -1;
}

Found locate(const Node& root, const std::vector<std::string>& segments) {
  Found at{.node = &root, .path = {}};
  bool in_item = false;
  for (const std::string& segment : segments) {
    const Node& n = *at.node;
    if (n.is_list()) {
      std::string why;
      std::string near;
      const int i = item_index(n, segment, why, near);
      if (i < 0) return {};
      at.path.push_back(std::to_string(i));
      at.node = &n.items[static_cast<std::size_t>(i)];
      in_item = true;
      continue;
    }
    const Node* next = n.find(segment);
    if (next == nullptr && in_item) {
      if (item_component(n) == segment) continue;
      if (const int i = short_form(n); i >= 0) {
        at.path.push_back(n.keys[static_cast<std::size_t>(i)].text);
        next = n.items[static_cast<std::size_t>(i)].find(segment);
      }
    }
    if (next == nullptr) return {};
    in_item = false;
    at.path.push_back(segment);
    at.node = next;
  }
  return at;
}

std::string path_text(const std::vector<std::string>& segments) {
  std::string out;
  for (const std::string& s : segments) out = key_path(out, s);
  return out;
}

bool split_path(std::string_view path, std::vector<std::string>& segments) {
  segments.clear();
  for (std::size_t i = 0;;) {
    std::string segment;
    const bool quoted = i < path.size() && path[i] == '"';
    if (quoted) {
      for (++i; i < path.size() && path[i] != '"'; ++i) {
        if (path[i] == '\\' && i + 1 < path.size()) ++i;
        segment += path[i];
      }
      if (i++ >= path.size()) return false;
    } else {
      while (i < path.size() && path[i] != '.') segment += path[i++];
      if (segment.empty()) return false;
    }
    segments.push_back(std::move(segment));
    if (i == path.size()) return true;
    if (path[i++] != '.') return false;
  }
}

const Node* find_path(const Node& root, std::string_view path) {
  std::vector<std::string> segments;
  return split_path(path, segments) ? locate(root, segments).node : nullptr;
}

namespace {

void collect(const Node& n, const std::string& path, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < n.items.size() && out.size() < 10000; ++i) {
    const std::string next = key_path(path, n.is_map() ? n.keys[i].text : std::to_string(i));
    out.push_back(next);
    collect(n.items[i], next, out);
  }
}

}  // namespace

std::vector<std::string> all_paths(const Node& root) {
  std::vector<std::string> out;
  collect(root, {}, out);
  return out;
}

}  // namespace lockstep
