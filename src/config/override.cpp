// Overrides: `path=value` and `path+=item` of the command line.
#include "config/override.h"

#include <fmt/core.h>

#include "config/references.h"
#include "config/utf8.h"
#include "config/walk.h"
#include "lockstep/base/error.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

class Applier {
 public:
  Applier(const std::string& argument, int n, Composed& out, Merger& merger, const MergeRules& rules, Diagnostics& d)
      : argument_(argument), out_(out), merger_(merger), rules_(rules), diagnostics_(d),
        source_(text_source(fmt::format("override:{}", n), argument, Source::Kind::override_)) {}

  void apply(std::set<std::string>& used) {
    const std::size_t equals = find_equals();
    if (equals == std::string::npos) {
      return error(0, fmt::format("'{}' is not an override: it holds no '='", argument_),
                   "the first argument is the config file; every other is path=value or path+=item");
    }
    const bool append = equals > 0 && argument_[equals - 1] == '+';
    const std::string path(argument_.substr(0, append ? equals - 1 : equals));
    if (!split_path(path, segments_)) {
      return error(0, fmt::format("'{}' is not a path", path), "a path is keys, indices and ids with dots between: layers.0.bias");
    }
    Node value;
    if (!read_value(equals + 1, value)) return;
    collect_references(value, used);
    if (segments_.size() == 1 && segments_[0] == "extends") {
      return error(0, "'extends' cannot be overridden", "write it in a file; a group from a file is path=@file.yaml");
    }
    Node* at = walk();
    if (at == nullptr) return;
    append ? add(*at, std::move(value)) : set(*at, std::move(value));
  }

 private:
  /// The first `=` outside a quoted segment.
  [[nodiscard]] std::size_t find_equals() const {
    bool quoted = false;
    for (std::size_t i = 0; i < argument_.size(); ++i) {
      if (quoted && argument_[i] == '\\') ++i;
      else if (argument_[i] == '"') quoted = !quoted;
      else if (argument_[i] == '=' && !quoted) return i;
    }
    return std::string::npos;
  }
  [[nodiscard]] Origin origin(std::size_t byte) const {
    return {source_, 1, count_code_points(std::string_view(argument_).substr(0, byte)) + 1};
  }
  void error(std::size_t byte, std::string message, std::string note = {}, std::string suggestion = {},
             Site site = {}) {
    diagnostics_.error(origin(byte), path_text(done_), std::move(message), std::move(suggestion), std::move(note), site);
  }

  bool read_value(std::size_t begin, Node& value) {
    const std::size_t before = diagnostics_.error_count();
    if (begin < argument_.size() && argument_[begin] == '@') {
      const std::string file = argument_.substr(begin + 1);
      try {
        value = load_yaml(read_source(file), diagnostics_);
        out_.files.push_back(file);
        refuse_inner_extends(value, diagnostics_, false);
      } catch (const Error& e) {
        error(begin, e.message);
      }
    } else {
      value = load_yaml(source_, diagnostics_, begin);
      if (value.is_null()) value.origin = origin(begin);
    }
    return diagnostics_.error_count() == before;
  }

  /// The node at the path; keys that are missing are created (their owner's fields judge them later).
  Node* walk() {
    Node* at = &out_.root;
    bool in_item = false;
    std::size_t byte = 0;
    for (std::size_t k = 0; k < segments_.size(); ++k) {
      const std::string& segment = segments_[k];
      const bool last = k + 1 == segments_.size();
      if (at->is_list()) {
        at = item(*at, segment, byte);
        if (at == nullptr) return nullptr;
        in_item = true;
      } else {
        if (in_item && !last && at->find(segment) == nullptr && item_component(*at) == segment) {
          byte += segment.size() + 1;
          continue;
        }
        at = key(*at, segment, byte, in_item, last);
        if (at == nullptr) return nullptr;
        in_item = false;
      }
      byte += segment.size() + 1;
    }
    return at;
  }

  Node* item(Node& list, const std::string& segment, std::size_t byte) {
    std::string why;
    std::string near;
    const int i = item_index(list, segment, why, near);
    if (i < 0) {
      std::string suggestion = near.empty() ? std::string() : key_path(path_text(done_), near);
      error(byte, fmt::format("'{}' has no item '{}': {}", path_text(done_), segment, why), {}, std::move(suggestion));
      return nullptr;
    }
    done_.push_back(std::to_string(i));
    return &list.items[static_cast<std::size_t>(i)];
  }

  Node* key(Node& map, const std::string& segment, std::size_t byte, bool in_item, bool last) {
    const bool component = rules_.component_at(out_.root, done_);
    Node* at = &map;
    if (at->is_scalar() && component && !done_.empty()) {
      Node named = Node::make_map(at->origin);
      named.set("name", *at, at->origin);
      *at = std::move(named);
    }
    if (at->is_null()) *at = Node::make_map(origin(byte));
    if (!at->is_map()) {
      error(byte, fmt::format("'{}' is {}, so it has no key '{}'", path_text(done_), at->shown(), segment));
      return nullptr;
    }
    if (in_item && component && at->find(segment) == nullptr && !is_reserved(segment)) {
      if (const int i = short_form(*at); i >= 0) {
        if (segment == "name") return rename_short(*at, static_cast<std::size_t>(i), byte);
        done_.push_back(at->keys[static_cast<std::size_t>(i)].text);
        at = &at->items[static_cast<std::size_t>(i)];
        if (at->is_null()) *at = Node::make_map(origin(byte));
      }
    }
    if (last && segment == "name" && component && !done_.empty()) renamed_ = at;
    done_.push_back(segment);
    if (Node* there = at->find(segment)) return there;
    return &at->set(segment, Node::make_null(), origin(byte));
  }

  /// `{conv2d: {...}}` becomes `{name: conv2d, ...}`, so that its name can change.
  Node* rename_short(Node& map, std::size_t i, std::size_t byte) {
    Node named = Node::make_map(map.origin);
    named.set("name", Node::make_scalar(map.keys[i].text, false, map.keys[i].origin), map.keys[i].origin);
    for (std::size_t k = 0; k < map.keys.size(); ++k) {
      if (k != i) named.set(map.keys[k].text, map.items[k], map.keys[k].origin);
    }
    const Node body = map.items[i];
    for (std::size_t k = 0; k < body.keys.size(); ++k) named.set(body.keys[k].text, body.items[k], body.keys[k].origin);
    map = std::move(named);
    return key(map, "name", byte, true, true);
  }

  void set(Node& at, Node value) {
    if (renamed_ != nullptr && value.is_scalar()) {
      const std::string old = explicit_name(*renamed_);
      std::vector<std::string> owner(done_.begin(), done_.end() - 1);
      merger_.rename(*renamed_, value.scalar, old, owner, value.origin);
      Node* name = renamed_->find("name");   // dropping keys moved it
      merger_.replace(*name, std::move(value), done_);
      return;
    }
    merger_.replace(at, std::move(value), done_);
  }
  void add(Node& at, Node value) {
    if (at.is_null()) at = Node::make_list({}, value.origin);
    if (!at.is_list()) {
      return error(0, fmt::format("'{}' is {}, so '+=' has nothing to append to", path_text(done_), at.shown()),
                   "'+=' appends an item to a list; '=' replaces");
    }
    at.items.push_back(std::move(value));
  }

  const std::string& argument_;
  Composed& out_;
  Merger& merger_;
  const MergeRules& rules_;
  Diagnostics& diagnostics_;
  SourceRef source_;
  std::vector<std::string> segments_;
  std::vector<std::string> done_;   // keys and indices walked so far
  Node* renamed_ = nullptr;         // the component map whose `name` is being set
};

void refuse_extends_below(const Node& n, const std::string& path, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    if (n.is_map() && n.keys[i].text == "extends") {
      diagnostics.error(n.keys[i].origin, key_path(path, "extends"), "'extends' stands only at the root of a config", {},
                        "list the file in the root's `extends`, or give the override path=@file.yaml");
    }
    refuse_extends_below(n.items[i], key_path(path, n.is_map() ? n.keys[i].text : std::to_string(i)), diagnostics);
  }
}

}  // namespace

bool is_override(std::string_view argument) { return argument.find('=') != std::string_view::npos; }

void apply_override(const std::string& argument, int n, Composed& out, Merger& merger, const MergeRules& rules,
                    std::set<std::string>& used, Diagnostics& diagnostics) {
  Applier(argument, n, out, merger, rules, diagnostics).apply(used);
}

void refuse_inner_extends(const Node& root, Diagnostics& diagnostics, bool whole_file_is_root) {
  if (!whole_file_is_root) return refuse_extends_below(root, {}, diagnostics);
  for (std::size_t i = 0; i < root.items.size(); ++i) {
    refuse_extends_below(root.items[i], root.is_map() ? root.keys[i].text : std::to_string(i), diagnostics);
  }
}

}  // namespace lockstep
