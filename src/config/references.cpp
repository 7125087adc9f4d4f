// References `${path}` and `${env:NAME:default}` in a composed tree.
#include "config/references.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "config/walk.h"
#include "lockstep/base/text.h"
#include "lockstep/config/compose.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostText = 1 << 20;

/// A scalar's text, cut into what stands as it is and what a reference names.
struct Part {
  bool reference = false;
  std::string text;
};

/// False when a `${` is not closed.
bool split_references(const std::string& text, std::vector<Part>& parts) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 3, "$${") == 0) {
      plain += "${";
      i += 3;
    } else if (text.compare(i, 2, "${") == 0) {
      const std::size_t end = text.find('}', i);
      if (end == std::string::npos) return false;
      if (!plain.empty()) parts.push_back({false, std::exchange(plain, {})});
      parts.push_back({true, text.substr(i + 2, end - i - 2)});
      i = end + 1;
    } else {
      plain += text[i++];
    }
  }
  if (!plain.empty() || parts.empty()) parts.push_back({false, plain});
  return true;
}

class Resolver {
 public:
  Resolver(Node& root, Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics), paths_(all_paths(root)), nodes_(count_nodes(root)) {}

  void resolve(Node& n) {
    if (done_.contains(&n)) return;
    open_.push_back(&n);
    if (n.is_scalar() && n.scalar.find("${") != std::string::npos) {
      scalar(n);
    } else {
      for (Node& item : n.items) resolve(item);
    }
    open_.pop_back();
    done_.insert(&n);
  }

 private:
  void scalar(Node& n) {
    std::vector<Part> parts;
    const Node written = n;
    if (!split_references(n.scalar, parts)) {
      diagnostics_.error(n.origin, {}, "a reference is not closed: '${' without '}'", {}, "write `$${` for a literal `${`");
      return;
    }
    if (parts.size() == 1 && parts[0].reference) {
      if (std::optional<Node> value = target(parts[0].text, written)) {
        n = std::move(*value);
        finish(n);
      }
      return;
    }
    std::string text;
    for (const Part& part : parts) {
      if (!part.reference) {
        text += part.text;
        continue;
      }
      const std::optional<Node> value = target(part.text, written);
      if (!value) return;
      if (!value->is_scalar()) {
        diagnostics_.error(n.origin, {}, fmt::format("'${{{}}}' names {}, which cannot stand inside a text", part.text, value->shown()),
                           {}, "a reference inside a text names a scalar; alone it may name anything");
        return;
      }
      text += value->scalar;
      if (text.size() > kMostText) {
        diagnostics_.error(n.origin, {}, fmt::format("references make this text longer than {} bytes", kMostText));
        return;
      }
    }
    n.quoted = n.quoted || !plain_writable(text);
    n.scalar = std::move(text);
  }

  /// A copied value is resolved already: its literal `${` must not be read again.
  void finish(const Node& n) {
    done_.insert(&n);
    for (const Node& item : n.items) finish(item);
  }

  std::optional<Node> target(const std::string& name, const Node& at) {
    if (name.starts_with("env:")) return environment(name, at);
    std::vector<std::string> segments;
    const bool legal = split_path(name, segments);
    // What stands on the way may itself be a reference: it must be there first.
    for (std::size_t k = 1; legal && k < segments.size(); ++k) {
      const Found on_the_way = locate(root_, {segments.begin(), segments.begin() + static_cast<std::ptrdiff_t>(k)});
      if (on_the_way.node != nullptr && on_the_way.node->is_scalar() &&
          std::ranges::find(open_, on_the_way.node) == open_.end()) {
        resolve(const_cast<Node&>(*on_the_way.node));
      }
    }
    const Found found = legal ? locate(root_, segments) : Found{};
    if (found.node == nullptr) {
      const auto near = nearest(name, paths_);
      diagnostics_.error(at.origin, {}, fmt::format("'${{{}}}' names nothing", name),
                         near ? fmt::format("${{{}}}", *near) : std::string(),
                         "a reference names a key that is written in this config; defaults cannot be named");
      return {};
    }
    Node& node = const_cast<Node&>(*found.node);
    if (std::ranges::find(open_, &node) != open_.end()) {
      diagnostics_.error(at.origin, {}, fmt::format("'${{{}}}' leads back to itself", name), {},
                         fmt::format("it names {}, which holds this reference or needs it", node.origin.text()));
      return {};
    }
    resolve(node);
    if (nodes_ > kMaxNodes) return {};   // said once
    nodes_ += count_nodes(node);
    if (nodes_ > kMaxNodes) {
      diagnostics_.error(at.origin, {}, fmt::format("references make more than {} values", kMaxNodes), {},
                         "each reference copies what it names: see whether they multiply");
      return {};
    }
    return node;
  }

  std::optional<Node> environment(const std::string& name, const Node& at) {
    const std::size_t colon = name.find(':', 4);
    const std::string variable = name.substr(4, colon == std::string::npos ? colon : colon - 4);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr && colon == std::string::npos) {
      diagnostics_.error(at.origin, {}, fmt::format("the environment variable {} is not set", variable), {},
                         fmt::format("set it, or give a default: ${{env:{}:default}}", variable));
      return {};
    }
    const std::string text = value != nullptr ? std::string(value) : name.substr(colon + 1);
    return Node::make_scalar(text, !plain_writable(text), at.origin);
  }

  Node& root_;
  Diagnostics& diagnostics_;
  std::vector<std::string> paths_;
  std::size_t nodes_;
  std::vector<const Node*> open_;            // being resolved, outermost first
  std::set<const Node*> done_;
};

void report_unused(const Node& n, const std::string& path, const std::set<std::string>& used, const Origin& key,
                   Diagnostics& diagnostics) {
  if (used.contains(path)) return;
  const bool inner = std::ranges::any_of(used, [&](const std::string& u) { return u.starts_with(path + '.'); });
  if (!inner) {
    diagnostics.error(key, path, fmt::format("'{}' is not used", path), {},
                      fmt::format("name it somewhere as ${{{}}}, or remove it", path));
    return;
  }
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    if (n.is_map()) report_unused(n.items[i], key_path(path, n.keys[i].text), used, n.keys[i].origin, diagnostics);
  }
}

}  // namespace

void collect_references(const Node& n, std::set<std::string>& paths) {
  if (n.is_scalar()) {
    std::vector<Part> parts;
    if (!split_references(n.scalar, parts)) return;
    for (const Part& part : parts) {
      if (part.reference) paths.insert(part.text);
    }
  }
  for (const Node& item : n.items) collect_references(item, paths);
}

void resolve_references(Node& root, Diagnostics& diagnostics) { Resolver(root, diagnostics).resolve(root); }

void report_unused_vars(const Node& root, const std::set<std::string>& used, Diagnostics& diagnostics) {
  const Node* vars = root.find("vars");
  if (vars == nullptr || used.contains("vars")) return;
  if (!vars->is_map()) {
    if (!vars->is_null()) diagnostics.error(vars->origin, "vars", fmt::format("'vars' is {}, not a map", vars->shown()));
    return;
  }
  for (std::size_t i = 0; i < vars->items.size(); ++i) {
    report_unused(vars->items[i], key_path("vars", vars->keys[i].text), used, vars->keys[i].origin, diagnostics);
  }
}

}  // namespace lockstep
