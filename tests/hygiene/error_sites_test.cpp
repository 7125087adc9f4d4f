// Every place that reports an error is reached by a test, or tests/errors/unreached.txt says why not.
//
// Each fast test binary, and every process that it starts, appends the places it reached to error_sites/<test>.log in
// the build folder (LOCKSTEP_ERROR_LOG). This suite runs after all of them and compares with the places in the sources.
#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hygiene/files.h"
#include "paths.h"

using namespace lockstep::test;

namespace {

namespace fs = std::filesystem;

// One call that reports an error. `text` is the message as written, without the values, or the arguments of a call
// that has no text of its own.
struct ErrorSite {
  std::string file;
  int first = 0, last = 0;  // lines
  std::string text;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

int line_at(const std::string& text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// The offset of the parenthesis that closes the one at `open`.
std::size_t closing(const std::string& code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(') ++depth;
    if (code[i] == ')' && --depth == 0) return i;
  }
  return code.size();
}

// The first run of adjacent string literals in [begin, end), joined; else the code there, blanks squeezed.
std::string message_in(const SourceFile& file, std::size_t begin, std::size_t end) {
  std::string joined, bare;
  bool found = false;
  for (std::size_t i = begin; i < end; ++i) {
    const char c = file.code[i];
    if (c == '"') {
      const std::size_t close = file.code.find('"', i + 1);
      if (close > i + 1) {
        joined += file.text.substr(i + 1, close - i - 1);
        found = true;
      }
      i = close;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      if (found) break;
      bare += c;
    }
  }
  std::string text = found ? joined : bare;
  if (text.size() > 110) text.resize(110);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Functions that take a Site are where errors are reported. Those of headers are known everywhere, others in their file.
std::set<std::string> reporters(const SourceFile& file) {
  std::set<std::string> out;
  for (std::size_t at = file.code.find("Site site"); at != std::string::npos; at = file.code.find("Site site", at + 1)) {
    int depth = 0;
    std::size_t open = at;
    while (open > 0 && !(file.code[open] == '(' && depth == 0)) {
      if (file.code[open] == ')') ++depth;
      if (file.code[open] == '(') --depth;
      --open;
    }
    std::size_t end = open;
    // A lambda: its name stands before "= [...]".
    if (end > 0 && file.code[end - 1] == ']') end = file.code.rfind('=', file.code.rfind('[', end));
    while (end > 0 && file.code[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && is_name(file.code[begin - 1])) --begin;
    const std::string name = file.code.substr(begin, end - begin);
    if (!name.empty() && name != "Error" && name != "SitedFormat") out.insert(name);
  }
  return out;
}

std::vector<ErrorSite> sites_of(const SourceFile& file, const std::set<std::string>& names) {
  std::vector<ErrorSite> out;
  for (std::size_t open = file.code.find('('); open != std::string::npos; open = file.code.find('(', open + 1)) {
    std::size_t begin = open;
    while (begin > 0 && is_name(file.code[begin - 1])) --begin;
    if (!names.contains(file.code.substr(begin, open - begin))) continue;
    const std::size_t close = closing(file.code, open);
    const std::string call = file.code.substr(open, close - open);
    const bool declares = call.find("Site site") != std::string::npos;
    // `site` as the last argument: handed on, so that the caller is the place.
    std::size_t last = close;
    while (last > open && std::isspace(static_cast<unsigned char>(file.code[last - 1])) != 0) --last;
    const bool hands_on = file.code.compare(last - 4, 4, "site") == 0 && !is_name(file.code[last - 5]);
    if (declares || hands_on) continue;
    out.push_back({file.path, line_at(file.code, begin), line_at(file.code, close), message_in(file, open, close)});
  }
  return out;
}

std::vector<ErrorSite> all_sites() {
  std::set<std::string> everywhere = {"fail", "failf"};
  const auto counts = [](const SourceFile& f) {
    if (f.path == "include/lockstep/base/error.h" || f.path == "src/base/error.cpp") return false;  // they hand on
    return f.path.starts_with("include/") || f.path.starts_with("src/") || f.path.starts_with("registry/");
  };
  for (const SourceFile& file : source_files()) {
    if (counts(file) && file.path.ends_with(".h")) everywhere.merge(reporters(file));
  }
  std::vector<ErrorSite> out;
  for (const SourceFile& file : source_files()) {
    if (!counts(file)) continue;
    std::set<std::string> names = reporters(file);
    names.insert(everywhere.begin(), everywhere.end());
    for (ErrorSite& site : sites_of(file, names)) out.push_back(std::move(site));
  }
  return out;
}

// "src/base/json.cpp:93" -> true where the site covers that line.
bool covers(const ErrorSite& site, const std::string& place) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos || place.compare(0, colon, site.file) != 0) return false;
  int line = 0;
  std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  return line >= site.first && line <= site.last;
}

// "file: beginning of the text => reason"
struct Excuse {
  std::string file, text, reason, line;
  bool used = false;
};

std::vector<Excuse> read_excuses() {
  std::vector<Excuse> out;
  std::ifstream in(fs::path(kSourceDir) / "tests/errors/unreached.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(": "), arrow = line.find(" => ");
    REQUIRE_MESSAGE((colon != std::string::npos && arrow != std::string::npos && colon < arrow),
                    "tests/errors/unreached.txt: not 'file: text => reason': " << line);
    out.push_back({line.substr(0, colon), line.substr(colon + 2, arrow - colon - 2), line.substr(arrow + 4), line});
  }
  return out;
}

// The logs of all fast tests; false when one is missing or older than what it tested.
bool read_logs(std::set<std::string>& places) {
  const fs::path build(kBuildDir);
  for (const auto& entry : fs::directory_iterator(build / "tests")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("test_") || !entry.is_regular_file() || entry.path().has_extension()) continue;
    const fs::path log = build / "error_sites" / (name.substr(5) + ".log");
    if (!fs::exists(log) || fs::last_write_time(log) < fs::last_write_time(entry.path())) {
      MESSAGE("not compared: the test " << name.substr(5) << " has not run since it was built");
      return false;
    }
    std::ifstream in(log);
    for (std::string line; std::getline(in, line);) places.insert(line);
  }
  return true;
}

}  // namespace

TEST_CASE("the scan finds calls, their texts and their lines") {
  const SourceFile file{"src/x.cpp",
                        "void f() {\n  failf(Category::usage, \"a {} \"\n        \"b\", 1);\n  own(x, \"c\");\n}\n"
                        "void own(int x, std::string m, Site site = {}) { fail(c, m, site); }\n",
                        "void f() {\n  failf(Category::usage, \"     \"\n        \" \", 1);\n  own(x, \" \");\n}\n"
                        "void own(int x, std::string m, Site site = {}) { fail(c, m, site); }\n",
                        "x"};
  CHECK(reporters(file) == std::set<std::string>{"own"});
  const auto sites = sites_of(file, {"failf", "fail", "own"});
  REQUIRE(sites.size() == 2);
  CHECK(sites[0].text == "a {} b");
  CHECK(sites[0].first == 2);
  CHECK(sites[0].last == 3);
  CHECK(sites[1].text == "c");
  CHECK(covers(sites[0], "src/x.cpp:3"));
  CHECK_FALSE(covers(sites[0], "src/x.cpp:4"));
  CHECK(all_sites().size() > 250);
}

TEST_SUITE("sites") {
  TEST_CASE("every error is reached by a test or excused in writing") {
    std::set<std::string> places;
    if (!read_logs(places)) return;
    std::vector<Excuse> excuses = read_excuses();
    const std::vector<ErrorSite> sites = all_sites();
    std::size_t reached = 0;
    std::string missing, stale;
    for (const ErrorSite& site : sites) {
      const bool seen = std::ranges::any_of(places, [&](const std::string& p) { return covers(site, p); });
      if (seen) ++reached;
      const auto excuse = std::ranges::find_if(excuses, [&](const Excuse& e) {
        return e.file == site.file && site.text.starts_with(e.text);
      });
      if (excuse != excuses.end() && !seen) excuse->used = true;
      if (excuse == excuses.end() && !seen) missing += "\n" + site.file + ": " + site.text + "  (line " + std::to_string(site.first) + ")";
    }
    for (const Excuse& e : excuses) {
      if (!e.used) stale += "\n" + e.line;
    }
    MESSAGE(reached << " of " << sites.size() << " error sites reached, " << excuses.size() << " excused");
    CHECK_MESSAGE(missing.empty(), "no test reaches these, and tests/errors/unreached.txt does not say why:" << missing);
    CHECK_MESSAGE(stale.empty(), "tests/errors/unreached.txt excuses what a test reaches or what is gone:" << stale);
  }
}
