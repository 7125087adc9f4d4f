// Merging one tree over another, and recording what was replaced.
#include "config/merge.h"

#include <fmt/core.h>

#include "config/walk.h"

namespace lockstep {

std::string explicit_name(const Node& map) {
  const Node* name = map.find("name");
  return name != nullptr && name->is_scalar() ? name->scalar : std::string();
}

void Merger::merge(Node over) {
  std::vector<std::string> path;
  merge_into(out_.root, std::move(over), path);
}

void Merger::replace(Node& at, Node value, const std::vector<std::string>& path) {
  if (at.origin.written()) out_.shadowed[path_text(path)].push_back({at.origin, one_line(at)});
  at = std::move(value);
}

void Merger::report_dropped(const Node& map, std::size_t i, const std::string& old, const std::string& name,
                            const std::vector<std::string>& path, const Origin& why) {
  const std::string full = key_path(path_text(path), map.keys[i].text);
  diagnostics_.warning(why, path_text(path),
                       fmt::format("'{}' of '{}' is dropped: {} is now '{}'", map.keys[i].text, old, path_text(path), name),
                       fmt::format("it was set to {} at {}", one_line(map.items[i]), map.keys[i].origin.text()));
  out_.shadowed[full].push_back({map.items[i].origin, one_line(map.items[i])});
}

void Merger::rename(Node& at, const std::string& name, const std::string& old, const std::vector<std::string>& path,
                    const Origin& why) {
  if (old.empty() || name.empty() || old == name) return;
  for (std::size_t i = at.keys.size(); i-- > 0;) {
    if (at.keys[i].text == "name" || rules_.stays(out_.root, path, at.keys[i].text)) continue;
    report_dropped(at, i, old, name, path, why);
    at.keys.erase(at.keys.begin() + static_cast<std::ptrdiff_t>(i));
    at.items.erase(at.items.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Merger::merge_into(Node& base, Node over, std::vector<std::string>& path) {
  const bool component = !path.empty() && rules_.component_at(out_.root, path);
  if (base.is_scalar() && over.is_map() && component && explicit_name(over).empty()) {
    const std::string name = base.scalar;
    if (rules_.chosen(out_.root, path, over, name).empty()) {
      Node map = Node::make_map(base.origin);
      map.set("name", base, base.origin);
      base = std::move(map);
    }
  }
  if (base.is_map() && over.is_map()) return merge_maps(base, std::move(over), path);
  if (base.is_map() && over.is_scalar() && component) {
    const std::string old = explicit_name(base);
    if (!old.empty() && old != over.scalar) {
      for (std::size_t i = 0; i < base.keys.size(); ++i) {
        if (base.keys[i].text != "name") report_dropped(base, i, old, over.scalar, path, over.origin);
      }
    }
  }
  replace(base, std::move(over), path);
}

void Merger::merge_maps(Node& base, Node over, std::vector<std::string>& path) {
  if (!path.empty() && rules_.component_at(out_.root, path)) {
    const std::string base_written = explicit_name(base);
    const std::string old = base_written.empty() ? rules_.chosen(out_.root, path, base, {}) : base_written;
    const std::string over_written = explicit_name(over);
    const std::string name = over_written.empty() ? rules_.chosen(out_.root, path, over, old) : over_written;
    const Node* written = over.find("name");
    rename(base, name, old, path, written != nullptr ? written->origin : over.origin);
    if (!name.empty() && name != old && over_written.empty()) base.erase("name");
  }
  // The name first: rules look at it when they judge what lies below.
  for (const bool names : {true, false}) {
    for (std::size_t i = 0; i < over.keys.size(); ++i) {
      const std::string key = over.keys[i].text;
      if ((key == "name") != names) continue;
      path.push_back(key);
      if (Node* there = base.find(key)) {
        merge_into(*there, std::move(over.items[i]), path);
        for (Key& k : base.keys) {
          if (k.text == key) k.origin = over.keys[i].origin;
        }
      } else {
        base.set(key, std::move(over.items[i]), over.keys[i].origin);
      }
      path.pop_back();
    }
  }
  base.origin = over.origin;
}

bool MergeRules::component_at(const Node&, Path path) const { return !path.empty(); }
bool MergeRules::stays(const Node&, Path, std::string_view key) const { return is_reserved(key); }
std::string MergeRules::chosen(const Node&, Path, const Node&, std::string_view) const { return {}; }

}  // namespace lockstep
