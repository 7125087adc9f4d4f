// Every #include follows tests/layers.txt; third-party headers stay where they belong.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "hygiene/files.h"
#include "paths.h"
#include "print.h"

using namespace lockstep::test;

namespace {

// layer -> itself and every layer below it
std::map<std::string, std::set<std::string>> closures() {
  std::map<std::string, std::set<std::string>> out;
  std::ifstream in(std::string(kSourceDir) + "/tests/layers.txt");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::set<std::string>& mine = out[line.substr(0, colon)];
    mine.insert(line.substr(0, colon));
    std::istringstream below(line.substr(colon + 1));
    for (std::string lower; below >> lower;) {
      if (!out.contains(lower)) FAIL(line << " names a layer that stands below it or nowhere");
      mine.insert(out.at(lower).begin(), out.at(lower).end());
    }
  }
  return out;
}

// The layer that an include of ours reaches, or empty.
std::string target(const std::string& name, const std::set<std::string>& layers) {
  const std::string rest = name.starts_with("lockstep/") ? name.substr(9) : name;
  const std::string first = rest.substr(0, rest.find('/'));
  return rest.find('/') != std::string::npos && layers.contains(first) ? first : std::string();
}

struct Firewall {
  const char* header;  // what the include starts with
  const char* where;   // the only path it may stand under
};
const Firewall kFirewall[] = {
    {"CLI/", "src/cli/parse.cpp"},      {"yaml-cpp/", "src/config/load_yaml.cpp"},
    {"nlohmann/", "src/base/json.cpp"}, {"sqlite3.h", "src/track/"},
    {"hwy/", "src/kernels/cpu/"},       {"opencv2/", "src/data/image/"},
    {"cuda", "src/kernels/cuda/"},      {"openssl/", "src/base/sha256.cpp"},
};

}  // namespace

TEST_CASE("every include goes to a layer below") {
  const auto allowed = closures();
  std::set<std::string> layers;
  for (const auto& [layer, below] : allowed) layers.insert(layer);
  std::vector<std::string> wrong;
  std::size_t checked = 0;
  for (const SourceFile& file : source_files()) {
    if (file.layer.empty()) continue;
    const auto mine = allowed.find(file.layer);
    if (mine == allowed.end()) {
      wrong.push_back(file.path + ": its folder is no layer of tests/layers.txt");
      continue;
    }
    for (const std::string& name : includes(file)) {
      const std::string layer = target(name, layers);
      ++checked;
      if (!layer.empty() && !mine->second.contains(layer)) {
        wrong.push_back(file.path + " includes " + name + ": " + file.layer + " may not use " + layer);
      }
    }
  }
  CHECK(wrong == std::vector<std::string>());
  CHECK(checked > 50);
}

TEST_CASE("third-party headers stay behind the firewall") {
  std::vector<std::string> wrong;
  for (const SourceFile& file : source_files()) {
    if (file.path.starts_with("tests/")) continue;
    for (const std::string& name : includes(file)) {
      for (const Firewall& rule : kFirewall) {
        if (name.starts_with(rule.header) && !file.path.starts_with(rule.where)) {
          wrong.push_back(file.path + " includes " + name + ", which belongs in " + rule.where);
        }
      }
      if (name.starts_with("fmt/") && name != "fmt/core.h") wrong.push_back(file.path + " includes " + name);
    }
  }
  CHECK(wrong == std::vector<std::string>());
}
