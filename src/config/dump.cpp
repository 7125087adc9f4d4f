// Writes a tree as YAML that loads to an equal tree.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "config/utf8.h"
#include "lockstep/config/node.h"

namespace lockstep {
namespace {

bool invisible(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || c == 0x2060 || c == 0xFEFF;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const std::uint32_t c = next_code_point(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c != 0xFFFFFFFF && invisible(c)) {
      out += c < 0x100 ? fmt::format("\\x{:02X}", c) : fmt::format("\\u{:04X}", c);
    } else {
      out += text.substr(begin, i - begin);
    }
  }
  return out += '"';
}

bool null_word(std::string_view t) { return t.empty() || t == "~" || t == "null" || t == "Null" || t == "NULL"; }

/// Whether the text may stand without quotes; in a flow list fewer characters may.
bool plain_safe(std::string_view t, bool flow) {
  if (t.empty() || t == "~" || t == "null" || t.starts_with("---") || t.starts_with("...")) return false;
  if (t.front() == ' ' || t.back() == ' ' || t.front() == '\t' || t.back() == '\t' || t.back() == ':') return false;
  if (std::string_view(",[]{}#&*!|>'\"%@`").find(t.front()) != std::string_view::npos) return false;
  if (std::string_view("-?:").find(t.front()) != std::string_view::npos) {
    if (t.size() == 1 || t[1] == ' ' || t[1] == '\t' || (flow && t.front() != '-')) return false;
  }
  for (std::size_t i = 0; i < t.size();) {
    const std::size_t at = i;
    const std::uint32_t c = next_code_point(t, i);
    if (c == 0xFFFFFFFF || (invisible(c) && c != '\t')) return false;
    if (flow && std::string_view(",[]{}?:").find(t[at]) != std::string_view::npos) return false;
    if (c == ':' && (t[at + 1] == ' ' || t[at + 1] == '\t')) return false;
    if (c == '#' && (t[at - 1] == ' ' || t[at - 1] == '\t')) return false;
  }
  return true;
}

class Writer {
 public:
  explicit Writer(bool escape) : escape_(escape) {}

  void block(const Node& n, int indent) {
    for (std::size_t i = 0; i < n.items.size(); ++i) {
      if (i > 0 || !inline_first_) out_.append(static_cast<std::size_t>(indent), ' ');
      inline_first_ = false;
      if (n.is_map()) {
        out_ += key(n.keys[i].text);
        value(n.items[i], indent + 2);
      } else {
        out_ += "-";
        item(n.items[i], indent + 2);
      }
    }
  }
  void value(const Node& n, int indent) {
    if (fits_line(n)) {
      out_ += ' ' + line(n) + '\n';
    } else {
      out_ += '\n';
      block(n, indent);
    }
  }
  void item(const Node& n, int indent) {
    out_ += ' ';
    if (fits_line(n)) {
      out_ += line(n) + '\n';
    } else {
      inline_first_ = true;  // `- key: ...` and `- - ...` begin on the same line
      block(n, indent);
    }
  }
  /// Scalars, nulls, empty collections, and short lists of plain scalars.
  [[nodiscard]] bool fits_line(const Node& n) const {
    if (!n.is_list() && !n.is_map()) return true;
    if (n.items.empty()) return true;
    if (n.is_map()) return false;
    std::size_t length = 0;
    for (const Node& i : n.items) {
      if (i.is_list() || i.is_map()) return false;
      if (i.is_scalar() && !i.quoted && !plain_safe(escaped(i.scalar), true)) return false;
      length += i.scalar.size() + 2;
    }
    return length <= 90;
  }
  [[nodiscard]] std::string line(const Node& n) const {
    if (n.is_null()) return "null";
    if (n.is_map()) return "{}";
    if (n.is_scalar()) {
      const std::string text = escaped(n.scalar);
      return n.quoted || !plain_safe(text, false) ? double_quoted(text) : text;
    }
    std::string out = "[";
    for (const Node& i : n.items) out += (out.size() > 1 ? ", " : "") + line(i);
    return out + "]";
  }
  [[nodiscard]] static std::string key(const std::string& text) {
    const bool plain = plain_safe(text, true) && !null_word(text) && text != "<<";
    return (plain ? text : double_quoted(text)) + ':';
  }
  [[nodiscard]] std::string escaped(const std::string& text) const {
    std::string out = text;
    if (!escape_) return out;
    for (std::size_t at = out.find("${"); at != std::string::npos; at = out.find("${", at + 3)) out.insert(at, "$");
    return out;
  }
  std::string out_;

 private:
  bool escape_;
  bool inline_first_ = false;
};

void flow(const Node& n, std::string& out, std::size_t limit) {
  if (out.size() > limit) return;
  if (n.is_null()) out += "null";
  if (n.is_scalar()) out += n.quoted || !plain_safe(n.scalar, true) ? double_quoted(n.scalar) : n.scalar;
  if (!n.is_list() && !n.is_map()) return;
  out += n.is_map() ? '{' : '[';
  for (std::size_t i = 0; i < n.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (n.is_map()) out += Writer::key(n.keys[i].text) + ' ';
    flow(n.items[i], out, limit);
  }
  out += n.is_map() ? '}' : ']';
}

}  // namespace

bool plain_writable(std::string_view text) { return plain_safe(text, false); }

std::string dump(const Node& n, bool escape_references) {
  Writer w(escape_references);
  if (w.fits_line(n)) return w.line(n) + '\n';
  w.block(n, 0);
  return std::move(w.out_);
}

std::string one_line(const Node& n, std::size_t limit) {
  std::string out;
  flow(n, out, limit);
  if (out.size() <= limit) return out;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0U) == 0x80U) --end;
  return out.substr(0, end) + "...";
}

std::string visible(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const std::uint32_t c = next_code_point(text, i);
    if (c == 0xFFFFFFFF) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(text[begin])));
    } else if (invisible(c)) {
      out += fmt::format("\\u{:04X}", c);
    } else {
      out += text.substr(begin, i - begin);
    }
  }
  return out;
}

bool reads_as_other(std::string_view t) {
  static constexpr std::array<std::string_view, 11> kWords = {"true", "false", "yes", "no", "on", "off",
                                                              "y",    "n",     "null", "~", ""};
  std::string lower(t);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (std::ranges::find(kWords, lower) != kWords.end()) return true;
  // Anything that begins like a number: also what other readers take for one (1_000, 0x10, 12:30, .inf).
  const std::size_t at = lower[0] == '+' || lower[0] == '-' ? 1 : 0;
  if (at >= lower.size()) return false;
  if (lower[at] >= '0' && lower[at] <= '9') return true;
  return lower[at] == '.' && at + 1 < lower.size() &&
         ((lower[at + 1] >= '0' && lower[at + 1] <= '9') || lower.substr(at) == ".inf" || lower.substr(at) == ".nan");
}

}  // namespace lockstep
