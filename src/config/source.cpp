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

constexpr std::uint64_t kMostBytes = 16 << 20;

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
  const std::string folder = parent_path(absolute_path(path));
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
  s->folder = absolute_path(folder.empty() ? "." : folder);
  s->text = kind == Source::Kind::file ? clean(std::move(text)) : std::move(text);
  return s;
}

SourceRef read_source(const std::string& path) try {
  if (path.empty()) fail(Category::usage, "an empty text names no config file");
  const std::optional<FileStat> stat = real_files().stat(path);
  if (!stat) {
    const std::vector<std::string> names = configs_beside(path);
    const auto near = nearest(std::filesystem::path(path).filename().string(), names);
    failf(Category::usage, "{}: no such file{}; a config file is named by its path, here relative to {}", path,
          near ? fmt::format(", did you mean '{}'", *near) : std::string(), absolute_path("."));
  }
  if (stat->directory) failf(Category::usage, "{}: this is a folder; name a config file in it", path);
  // Devices and pipes have no end, or cannot be read twice.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) failf(Category::usage, "{}: this is no regular file; a config is read from one", path);
  if (stat->size > kMostBytes) failf(Category::usage, "{}: {} bytes are too many for a config, which has at most {}", path, stat->size, kMostBytes);
  return text_source(path, real_files().read_file(path), Source::Kind::file, std::filesystem::path(path).parent_path().string());
} catch (const Error& e) {
  // Whatever is wrong with the file, it is the command that named it.
  if (e.category == Category::data) fail(Category::usage, e.message);
  throw;
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
