// Sources: files and texts that configuration is read from, and the check of their bytes.
#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "config/scan.h"
#include "config/utf8.h"
#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "lockstep/base/text.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

std::string clean(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

/// A leading run of blanks that holds a tab, before something that is not a comment.
bool tab_indents(std::string_view line) {
  const std::size_t text = line.find_first_not_of(" \t");
  if (text == std::string_view::npos || line[text] == '#') return false;
  return line.substr(0, text).find('\t') != std::string_view::npos;
}

/// The YAML files in the folder where `path` was looked for.
std::vector<std::string> configs_beside(const std::string& path) {
  std::vector<std::string> out;
  std::error_code missing;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const auto extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".yml") out.push_back(entry.path().filename().string());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

SourceRef text_source(std::string name, std::string text, Source::Kind kind, std::string folder) {
  auto s = std::make_shared<Source>();
  s->kind = kind;
  s->name = std::move(name);
  s->folder = std::filesystem::absolute(folder.empty() ? "." : folder).lexically_normal().string();
  s->text = kind == Source::Kind::file ? clean(std::move(text)) : std::move(text);
  return s;
}

SourceRef read_source(const std::string& path) {
  const std::optional<FileStat> stat = real_files().stat(path);
  if (!stat) {
    const std::vector<std::string> names = configs_beside(path);
    const auto near = nearest(std::filesystem::path(path).filename().string(), names);
    failf(Category::usage, "{}: no such file{}; a config file is named by its path, here relative to {}", path,
          near ? fmt::format(", did you mean '{}'", *near) : std::string(), std::filesystem::current_path().string());
  }
  if (stat->directory) failf(Category::usage, "{}: this is a folder; name a config file in it", path);
  std::string text;
  try {
    text = real_files().read_file(path);
  } catch (const Error& e) {
    fail(Category::usage, e.message);
  }
  return text_source(path, std::move(text), Source::Kind::file, std::filesystem::path(path).parent_path().string());
}

bool scan_bytes(const SourceRef& source, Diagnostics& diagnostics) {
  const std::string& text = source->text;
  bool good = true;
  int line = 1;
  int column = 1;
  const auto bad = [&](std::string message, std::string note, Site site = {}) {
    diagnostics.error({source, line, column}, {}, std::move(message), {}, std::move(note), site);
    good = false;
  };
  if (source->kind == Source::Kind::file) {
    int at = 1;
    for (std::string_view rest = text; !rest.empty(); ++at) {
      const std::string_view row = rest.substr(0, rest.find('\n'));
      if (tab_indents(row)) {
        diagnostics.error({source, at, static_cast<int>(row.find('\t')) + 1}, {}, "a tab in the indentation", {},
                          "YAML indents with blanks: replace the tab");
        good = false;
      }
      rest.remove_prefix(std::min(row.size() + 1, rest.size()));
    }
  }
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    const std::uint32_t c = next_code_point(text, i);
    if (c == 0xFFFFFFFF) {
      bad(fmt::format("byte 0x{:02X} is not UTF-8", static_cast<unsigned>(static_cast<unsigned char>(text[begin]))),
          "a config is UTF-8 text: convert the file, or this is not a config");
      return false;  // the rest would repeat it
    }
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      bad(fmt::format("control character 0x{:02X}", c), "a config is text: remove it, or write it as \"\\x..\" in quotes");
      return false;
    }
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return good;
}

}  // namespace lockstep
