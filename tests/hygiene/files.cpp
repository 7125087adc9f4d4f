// Reads the sources once.
#include "hygiene/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "paths.h"

namespace lockstep::test {

namespace {

namespace fs = std::filesystem;

// Blanks what the compiler would not see as code.
std::string strip(const std::string& text) {
  std::string out = text;
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      blank(i, end);
    } else if (text.compare(i, 2, "R\"") == 0) {
      const std::size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      end = std::min(text.find(close, open), text.size() - close.size()) + close.size();
      blank(i, end);
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
      const char quote = text[i];
      while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      blank(i + 1, end);
      ++end;
    }
    i = end;
  }
  return out;
}

std::string layer_of(const std::string& path) {
  const auto part = [&](const std::string& prefix) {
    const std::size_t slash = path.find('/', prefix.size());
    return slash == std::string::npos ? std::string() : path.substr(prefix.size(), slash - prefix.size());
  };
  if (path.starts_with("include/lockstep/")) return part("include/lockstep/");
  if (path.starts_with("registry/")) return "registry";
  if (path == "src/main.cpp") return "cli";
  if (path.starts_with("src/")) return part("src/");
  return "";
}

std::vector<SourceFile> read_all() {
  std::vector<SourceFile> out;
  const fs::path root(kSourceDir);
  for (const char* top : {"include", "src", "registry", "tests", "cmake"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      const std::string path = fs::relative(entry.path(), root).generic_string();
      out.push_back({path, text.str(), strip(text.str()), layer_of(path)});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

}  // namespace

const std::vector<SourceFile>& source_files() {
  static const std::vector<SourceFile> files = read_all();
  return files;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<std::string> includes(const SourceFile& file) {
  std::vector<std::string> out;
  for (const std::string& line : lines(file.text)) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#' || line.find("include", hash) == std::string::npos) continue;
    const std::size_t open = line.find_first_of("<\"", hash);
    const std::size_t close = open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
    if (close != std::string::npos) out.push_back(line.substr(open + 1, close - open - 1));
  }
  return out;
}

}  // namespace lockstep::test
