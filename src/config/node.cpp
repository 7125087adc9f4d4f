// Nodes: construction, lookup, comparison, and how they look in messages.
#include "lockstep/config/node.h"

#include <algorithm>
#include <tuple>

#include <fmt/core.h>

namespace lockstep {

std::string Origin::text() const {
  if (!source) return "default";
  // An override is one line, and its name holds its number.
  if (source->kind == Source::Kind::override_ && line == 1) return fmt::format("{}:{}", source->name, column);
  return fmt::format("{}:{}:{}", source->name, line, column);
}

bool operator==(const Origin& a, const Origin& b) {
  return a.source == b.source && a.line == b.line && a.column == b.column;
}

bool operator<(const Origin& a, const Origin& b) {
  const std::string_view a_name = a.source ? std::string_view(a.source->name) : std::string_view();
  const std::string_view b_name = b.source ? std::string_view(b.source->name) : std::string_view();
  return std::tie(a_name, a.line, a.column) < std::tie(b_name, b.line, b.column);
}

Node::Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

Node Node::make_null(Origin o) {
  Node n;
  n.origin = std::move(o);
  return n;
}

Node Node::make_scalar(std::string text, bool quoted, Origin o) {
  Node n;
  n.type = Type::scalar;
  n.scalar = std::move(text);
  n.quoted = quoted;
  n.origin = std::move(o);
  return n;
}

Node Node::make_list(std::vector<Node> items, Origin o) {
  Node n;
  n.type = Type::list;
  n.items = std::move(items);
  n.origin = std::move(o);
  return n;
}

Node Node::make_map(Origin o) {
  Node n;
  n.type = Type::map;
  n.origin = std::move(o);
  return n;
}

const Node* Node::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) return &items[i];
  }
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

const Key* Node::find_key(std::string_view key) const {
  const auto it = std::ranges::find(keys, key, &Key::text);
  return it == keys.end() ? nullptr : &*it;
}

Node& Node::set(std::string key, Node value, Origin key_origin) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text == key) {
      keys[i].origin = std::move(key_origin);
      return items[i] = std::move(value);
    }
  }
  keys.push_back({std::move(key), std::move(key_origin)});
  return items.emplace_back(std::move(value));
}

bool Node::erase(std::string_view key) {
  const auto it = std::ranges::find(keys, key, &Key::text);
  if (it == keys.end()) return false;
  items.erase(items.begin() + (it - keys.begin()));
  keys.erase(it);
  return true;
}

std::string Node::shown() const {
  switch (type) {
    case Type::null: return "null";
    case Type::list: return "a list";
    case Type::map: return "a map";
    case Type::scalar: break;
  }
  return quoted ? fmt::format("the text '{}'", visible(scalar)) : fmt::format("'{}'", visible(scalar));
}

bool operator==(const Node& a, const Node& b) {
  return a.type == b.type && a.quoted == b.quoted && a.scalar == b.scalar && a.items == b.items &&
         std::ranges::equal(a.keys, b.keys, {}, &Key::text, &Key::text);
}

std::size_t count_nodes(const Node& n) {
  std::size_t total = 1;
  for (const Node& item : n.items) total += count_nodes(item);
  return total;
}

std::string key_path(std::string_view path, std::string_view key) {
  std::string out(path);
  if (!out.empty()) out += '.';
  if (!key.empty() && key.find_first_of(".\"=") == std::string_view::npos) return out += key;
  out += '"';
  for (const char c : key) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

}  // namespace lockstep
