// Diagnostics: sorting, and what they look like.
#include "lockstep/config/diagnostics.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "config/utf8.h"
#include "lockstep/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kWidth = 120;  // code points of a source line that are shown

/// The source line and a caret under `column`; a long line is cut around it.
std::string snippet(const Origin& at) {
  const std::string_view line = line_of(at.source->text, at.line);
  const auto column = static_cast<std::size_t>(std::max(at.column, 1)) - 1;
  const std::size_t begin = column > kWidth - 20 ? column - kWidth / 2 : 0;
  std::string shown = begin > 0 ? "..." : "";
  std::string pad(shown.size(), ' ');
  std::size_t index = 0;
  for (std::size_t i = 0; i < line.size(); ++index) {
    const std::size_t from = i;
    const std::uint32_t c = next_code_point(line, i);
    if (index < begin) continue;
    if (index >= begin + kWidth) {
      shown += "...";
      break;
    }
    // A tab or an unprintable character takes one column, so that the caret stays right.
    const bool printable = c != 0xFFFFFFFF && c >= 0x20 && (c < 0x7F || c > 0xA0) && c != 0xFEFF;
    shown += printable ? line.substr(from, i - from) : std::string_view(c == '\t' || c == 0xA0 ? " " : "?");
  }
  pad.append(column - begin, ' ');
  while (!shown.empty() && shown.back() == ' ') shown.pop_back();
  return fmt::format("{:5} | {}\n      | {}^\n", at.line, shown, pad);
}

}  // namespace

void Diagnostics::add(Diagnostic d) {
  for (const Diagnostic& known : list_) {
    if (known.message == d.message && known.path == d.path && known.origin == d.origin) return;
    // What the text itself has wrong there (no path yet) explains what its reader finds there.
    const bool both_errors = known.severity == Severity::error && d.severity == Severity::error;
    if (both_errors && known.path.empty() && !d.path.empty() && d.origin.written() && known.origin == d.origin) return;
  }
  list_.push_back(std::move(d));
}

void Diagnostics::error(const Origin& at, std::string path, std::string message, std::string suggestion,
                        std::string note, Site site) {
  note_error_site(site);
  add({.origin = at, .path = std::move(path), .message = std::move(message), .suggestion = std::move(suggestion),
       .note = std::move(note)});
}

void Diagnostics::warning(const Origin& at, std::string path, std::string message, std::string note) {
  add({.origin = at, .path = std::move(path), .message = std::move(message), .note = std::move(note),
       .severity = Severity::warning});
}

bool Diagnostics::has_errors() const { return error_count() > 0; }

std::size_t Diagnostics::error_count() const {
  return static_cast<std::size_t>(std::ranges::count(list_, Severity::error, &Diagnostic::severity));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::map<const Source*, std::pair<bool, std::string>> order;  // files by appearance, then overrides by number
  for (const Diagnostic& d : list_) {
    const Source* source = d.origin.source.get();
    const bool from_override = source != nullptr && source->kind == Source::Kind::override_;
    order.emplace(source, std::pair(from_override, from_override ? fmt::format("{:>20}", source->name)
                                                                 : fmt::format("{:020}", order.size())));
  }
  std::vector<Diagnostic> out = list_;
  std::ranges::stable_sort(out, {}, [&](const Diagnostic& d) {
    return std::tuple(order.at(d.origin.source.get()), d.origin.line, d.origin.column);
  });
  return out;
}

std::string render(const Diagnostic& d) {
  const std::string_view word = d.severity == Severity::error ? "error" : "warning";
  std::string out = d.origin.written() ? fmt::format("{}: {}: {}\n", d.origin.text(), word, d.message)
                                       : fmt::format("{}: {}\n", word, d.message);
  if (d.origin.written()) out += snippet(d.origin);
  if (!d.suggestion.empty()) out += fmt::format("  did you mean '{}'?\n", d.suggestion);
  for (std::string_view rest = d.note; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += fmt::format("  {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string Diagnostics::text() const {
  std::string out;
  for (const Diagnostic& d : sorted()) out += render(d);
  const std::size_t errors = error_count();
  if (errors > 0) out += errors == 1 ? "1 error\n" : fmt::format("{} errors\n", errors);
  return out;
}

Json Diagnostics::json() const {
  Json out = Json::array();
  for (const Diagnostic& d : sorted()) {
    if (d.severity != Severity::error) continue;
    Json item = Json::object();
    item.set("file", d.origin.source ? Json(d.origin.source->name) : Json());
    item.set("line", d.origin.source ? Json(d.origin.line) : Json());
    item.set("column", d.origin.source ? Json(d.origin.column) : Json());
    item.set("path", d.path);
    item.set("message", d.message);
    item.set("suggestion", d.suggestion.empty() ? Json() : Json(d.suggestion));
    out.push(std::move(item));
  }
  return out;
}

void Diagnostics::throw_errors() const {
  if (!has_errors()) return;
  std::string message = text();
  message.pop_back();
  fail(Category::usage, std::move(message));
}

}  // namespace lockstep
