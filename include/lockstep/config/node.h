// Node: a configuration value that knows where it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// A text that configuration was read from: a file, one override of the command line, or an environment variable.
struct Source {
  enum class Kind : std::uint8_t { file, override_, environment };
  Kind kind = Kind::file;
  std::string name;    // as the user wrote it: the path; `override:N` (N counts from 1); `env:NAME`
  std::string folder;  // absolute; what relative paths written in this source start from
  std::string text;    // the whole text, without a byte order mark, lines ended by \n
};
using SourceRef = std::shared_ptr<const Source>;

/// Where a value was written. Without a source it is a default that nobody wrote.
struct Origin {
  SourceRef source{};
  int line = 0;    // from 1
  int column = 0;  // from 1, in code points

  [[nodiscard]] bool written() const { return source != nullptr; }
  /// `configs/x.yaml:14:9`, `override:2:14`, or `default`.
  [[nodiscard]] std::string text() const;
};
bool operator==(const Origin& a, const Origin& b);
/// Order of reading: by source name, line, column; defaults first.
bool operator<(const Origin& a, const Origin& b);

/// A key of a map, with its own place.
struct Key {
  std::string text;
  Origin origin{};
};

/// A tree of maps, lists, scalars and nulls. Scalars stay raw text until a field's type reads them.
class Node {
 public:
  enum class Type : std::uint8_t { null, scalar, list, map };

  Type type = Type::null;
  bool quoted = false;         // a scalar in quotes or in a block (`|`, `>`): never a number, boolean or null
  std::string scalar;          // a scalar's text after unquoting
  std::vector<Node> items;     // a list's items, or a map's values
  std::vector<Key> keys;       // a map's keys, in the order of `items`
  Origin origin;

  // Not inline: every user of a config would compile them anew.
  Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  static Node make_null(Origin o = {});
  static Node make_scalar(std::string text, bool quoted = false, Origin o = {});
  static Node make_list(std::vector<Node> items = {}, Origin o = {});
  static Node make_map(Origin o = {});

  [[nodiscard]] bool is_null() const { return type == Type::null; }
  [[nodiscard]] bool is_scalar() const { return type == Type::scalar; }
  [[nodiscard]] bool is_list() const { return type == Type::list; }
  [[nodiscard]] bool is_map() const { return type == Type::map; }
  [[nodiscard]] std::size_t size() const { return items.size(); }

  /// The value at `key` of a map; null when there is none or this is no map.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);
  /// The key itself, with its place.
  [[nodiscard]] const Key* find_key(std::string_view key) const;
  /// Appends or replaces `key` of a map. Returns the stored value.
  Node& set(std::string key, Node value, Origin key_origin = {});
  /// Removes `key` from a map; false when it was not there.
  bool erase(std::string_view key);
  /// `a map`, `a list`, `null`, or the scalar in quotes: for messages.
  [[nodiscard]] std::string shown() const;
};

/// Equal values: types, raw scalar texts, quoted flags, keys and their order. Origins do not count.
bool operator==(const Node& a, const Node& b);

/// Nodes of the tree, this one included.
std::size_t count_nodes(const Node& n);

/// The tree as YAML that loads to an equal tree. Ends with a newline.
/// `escape_references`: writes `$${` for `${`, so that composing the text again gives the same tree.
std::string dump(const Node& n, bool escape_references = false);

/// The tree on one line, for messages: `{name: sgd, lr: 0.1}`; cut after `limit` bytes.
std::string one_line(const Node& n, std::size_t limit = 80);

/// The text with control characters and invisible ones (byte order mark, no-break and zero-width blanks) as `\u00A0`.
std::string visible(std::string_view text);

/// True when dump() writes this text without quotes if it is unquoted; it holds nothing invisible and no line end.
bool plain_writable(std::string_view text);

/// True when an unquoted scalar of this text would be a number, a boolean or a null in YAML 1.2 or 1.1.
bool reads_as_other(std::string_view text);

/// `a.b`, with `"..."` around a key that holds a dot or a quote, or is empty. An empty `path` gives the key alone.
std::string key_path(std::string_view path, std::string_view key);

}  // namespace lockstep
