// Reads YAML with yaml-cpp's events, and refuses what would read differently elsewhere.
#include "lockstep/config/load_yaml.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/scan.h"
#include "config/utf8.h"

namespace lockstep {
namespace {

/// Ends the reading: what is wrong was reported.
struct Stop {};

class Builder final : public YAML::EventHandler {
 public:
  Builder(const SourceRef& source, std::size_t begin, Diagnostics& diagnostics)
      : source_(source), begin_(begin), diagnostics_(diagnostics) {
    for (std::size_t i = 0; i < source_->text.size(); ++i) {
      if (source_->text[i] != '\n') continue;
      lines_.push_back(i + 1);
      if (i < begin_) ++first_line_;
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      error(place(mark), "a second document begins here", "a config is one document: remove the '---' or split the file");
      throw Stop{};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Origin at = place(mark);
    const std::string_view text = std::string_view(source_->text).substr(offset(mark));
    // yaml-cpp takes two more spellings for null than YAML's core words that the rules name.
    if (text.starts_with("Null") || text.starts_with("NULL")) return scalar(at, anchor, std::string(text.substr(0, 4)), false);
    if (want_key()) {
      error(at, "a key is missing or null", "a key is text: quote it if the word null is meant");
      throw Stop{};
    }
    const bool written = text.starts_with("null") || text.starts_with("~");
    // The mark of an empty value is that of whatever comes next: the key's place is the better one.
    const bool in_map = !stack_.empty() && stack_.back().node.is_map();
    finish(Node::make_null(written || !in_map ? at : stack_.back().key.origin), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_complex_key(place(mark));
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      error(place(mark), "this alias stands inside the value that it names", "an alias copies a value that is complete");
      throw Stop{};
    }
    nodes_ += count_nodes(known->second) - 1;
    count(place(mark));
    attach(Node(known->second));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const Origin at = place(mark);
    refuse_tag(at, tag);
    scalar(at, anchor, value, tag == "!");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::make_list({}, place(mark)), tag, anchor, style);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::make_map(place(mark)), tag, anchor, style);
  }
  void OnMapEnd() override { close(); }

  Node take() {
    if (complex_key_) error(*complex_key_, "a list, a map or an alias as a key", "a key is text; quote it if it begins with [, {, * or ?");
    return std::move(root_);
  }
  [[nodiscard]] Origin place(const YAML::Mark& mark) const {
    const std::size_t line = first_line_ + static_cast<std::size_t>(std::max(mark.line, 0));
    if (line >= lines_.size()) return {source_, static_cast<int>(lines_.size()), 1};
    const std::size_t start = mark.line <= 0 ? begin_ : lines_[line];
    const std::size_t end = std::min(start + static_cast<std::size_t>(std::max(mark.column, 0)), source_->text.size());
    const std::string_view before = std::string_view(source_->text).substr(lines_[line], end - lines_[line]);
    return {source_, static_cast<int>(line) + 1, count_code_points(before) + 1};
  }
  /// The innermost '{' or '[' that is still open, and whether it is the brace.
  [[nodiscard]] std::optional<std::pair<Origin, bool>> open_flow() const {
    if (stack_.empty() || !stack_.back().flow) return std::nullopt;
    return std::pair(stack_.back().node.origin, stack_.back().node.is_map());
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool flow;
    Key key{};
    bool has_key = false;
    bool key_quoted = false;
    bool duplicate = false;  // the key stood before: its value is dropped
    std::map<std::string, Origin, std::less<>> seen{};
  };

  [[nodiscard]] std::size_t offset(const YAML::Mark& mark) const {
    return std::min(begin_ + static_cast<std::size_t>(std::max(mark.pos, 0)), source_->text.size());
  }
  [[nodiscard]] bool want_key() const { return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key; }

  void error(const Origin& at, std::string message, std::string note = {}, Site site = {}) {
    diagnostics_.error(at, {}, std::move(message), {}, std::move(note), site);
  }
  void count(const Origin& at) {
    if (++nodes_ <= kMaxNodes) return;
    error(at, fmt::format("more than {} values", kMaxNodes), "aliases count as copies: see whether they multiply");
    throw Stop{};
  }
  void refuse_tag(const Origin& at, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      constexpr std::string_view kCore = "tag:yaml.org,2002:";
      const bool core = tag.starts_with(kCore);
      error(at, fmt::format("a tag, '{}{}'", core ? "!!" : "", core ? tag.substr(kCore.size()) : tag), "tags are not used: a field's type decides how its text is read");
    }
  }
  /// Reported at the end only: an open '{' without its '}' looks like this first, and yaml-cpp then says what it is.
  void refuse_complex_key(const Origin& at) {
    if (want_key() && !complex_key_) complex_key_ = at;
  }

  void scalar(const Origin& at, YAML::anchor_t anchor, const std::string& value, bool quoted) {
    if (!want_key()) {
      // What only quotes can print again (blank lines, invisible characters) cannot be a number either.
      finish(Node::make_scalar(value, quoted || !plain_writable(value), at), anchor);
      return;
    }
    Open& map = stack_.back();
    if (value == "<<" && !quoted) {
      error(at, "the merge key '<<'", "maps are merged by `extends` and by references, not by '<<'");
    }
    const auto [first, is_new] = map.seen.emplace(value, at);
    if (!is_new) {
      error(at, fmt::format("the key '{}' stands twice in this map", visible(value)),
            fmt::format("first at {}\nremove one: neither would win by a rule that a reader could know", first->second.text()));
    }
    map.key = {value, at};
    map.key_quoted = quoted;
    map.duplicate = !is_new;
    map.has_key = true;
    if (anchor != 0) anchors_[anchor] = Node::make_scalar(value, quoted, at);
  }

  void open(Node node, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value style) {
    refuse_tag(node.origin, tag == "!" ? "" : tag);
    refuse_complex_key(node.origin);
    count(node.origin);
    if (stack_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      error(node.origin, fmt::format("nested deeper than {} levels", kMaxDepth));
      throw Stop{};
    }
    stack_.push_back({.node = std::move(node), .anchor = anchor, .flow = style == YAML::EmitterStyle::Flow});
  }
  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.anchor != 0) anchors_[done.anchor] = done.node;
    attach(std::move(done.node));
  }
  void finish(Node node, YAML::anchor_t anchor) {
    count(node.origin);
    if (anchor != 0) anchors_[anchor] = node;
    attach(std::move(node));
  }
  void attach(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (top.node.is_map() && !top.has_key) {  // a complex key, which is refused: its value is dropped
      top.has_key = top.duplicate = true;
      return;
    }
    if (top.node.is_map()) {
      check_glued_key(top, node);
      top.has_key = false;
      if (top.duplicate) return;
      top.node.keys.push_back(std::move(top.key));
    }
    top.node.items.push_back(std::move(node));
  }
  /// `{a:1}` is one key `a:1` without a value.
  void check_glued_key(const Open& map, const Node& value) {
    const std::size_t colon = map.key.text.find(':');
    if (!map.flow || map.key_quoted || !value.is_null() || colon == std::string::npos) return;
    if (value.origin.line != map.key.origin.line || value.origin.column != map.key.origin.column) return;
    error(map.key.origin, fmt::format("'{}' is one key without a value", visible(map.key.text)),
          fmt::format("inside {{}} YAML needs a blank after the colon: '{}: {}'", map.key.text.substr(0, colon),
                      map.key.text.substr(colon + 1)));
  }

  SourceRef source_;
  std::size_t begin_;                    // where the YAML begins in the text
  std::vector<std::size_t> lines_ = {0};  // where each line begins
  std::size_t first_line_ = 0;            // the line of begin_
  Diagnostics& diagnostics_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  std::optional<Origin> complex_key_;
  Node root_;
};

void report_parse_error(const YAML::Exception& e, const Builder& builder, const SourceRef& source,
                        Diagnostics& diagnostics) {
  const Origin at = builder.place(e.mark);
  std::string note;
  const std::string_view row = line_of(source->text, at.line);
  if (row.find("${") != std::string_view::npos) note = "inside {} and [] a reference needs quotes: \"${...}\"";
  if (note.empty() && e.msg.find("illegal map value") != std::string::npos) {
    note = "a text that holds ': ' needs quotes";
  }
  std::string what = e.msg;
  if (const auto open = builder.open_flow(); open && e.msg.starts_with("end of ")) {
    what = fmt::format("the '{}' at {} is not closed before this", open->second ? '{' : '[', open->first.text());
  }
  diagnostics.error(at, {}, fmt::format("not YAML: {}", what), {}, std::move(note));
}

}  // namespace

Node load_yaml(const SourceRef& source, Diagnostics& diagnostics, std::size_t begin) {
  if (!scan_bytes(source, diagnostics)) return Node::make_null({source, 1, 1});
  std::istringstream stream(source->text.substr(begin));
  Builder builder(source, begin, diagnostics);
  try {
    YAML::Parser parser(stream);
    bool found = false;
    while (parser.HandleNextDocument(builder)) found = true;
    if (!found) return Node::make_null({source, 1, 1});
  } catch (const Stop&) {
    return builder.take();
  } catch (const YAML::Exception& e) {
    report_parse_error(e, builder, source, diagnostics);
    return Node::make_null({source, 1, 1});
  }
  return builder.take();
}

}  // namespace lockstep
