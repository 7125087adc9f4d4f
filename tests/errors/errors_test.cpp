// Error texts as snapshots: every folder of tests/errors/cases is a command line that goes wrong, and what it must say.
//
// A case holds `cmd` (a shell line in which `lockstep` is the binary under test), `expected` (exit code, stdout, stderr)
// and whatever files it needs; `setup` is a shell script that runs before and must succeed. Everything happens in a copy
// of the folder, beside the files of tests/errors/common. LOCKSTEP_UPDATE=1 writes `expected` anew.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "paths.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep::test;

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// What differs from run to run, and what other tests pin down: folders, run ids, times, hashes, the machine.
std::string normalised(std::string text, const std::string& folder) {
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    text.replace(at, folder.size(), "$DIR");
  }
  static const std::pair<std::regex, const char*> rules[] = {
      {std::regex(R"(\d{8}-\d{6}-[a-z0-9]{4})"), "RUN"},
      {std::regex(R"(\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,64}\b)"), "HASH"},
      {std::regex(R"(\d{4}-\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?)"), "TIME"},
      {std::regex(R"(pid \d+ on [^)]*)"), "pid PID on HOST"},
  };
  for (const auto& [pattern, word] : rules) text = std::regex_replace(text, pattern, word);
  return text;
}

// Runs a shell script in `folder` with the binary on the path; gives the exit code.
int shell(const std::string& script, const fs::path& folder, const std::string& redirect) {
  const fs::path binary(kBinary);
  const std::string command = "cd '" + folder.string() + "' && PATH='" + binary.parent_path().string() +
                              "':\"$PATH\" LC_ALL=C LOCKSTEP_RUNS= sh -c '. ./.script' " + redirect;
  write(folder / ".script", script);
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string outcome(const fs::path& source) {
  const TempFolder outside;
  const fs::path work = fs::path(outside.path()) / "w";
  fs::copy(fs::path(kSourceDir) / "tests/errors/common", work, fs::copy_options::recursive);
  fs::copy(source, work, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  fs::remove(work / "expected");
  const std::string out = outside / "out", err = outside / "err";
  if (fs::exists(work / "setup")) {
    const int code = shell(read(work / "setup"), work, ">'" + out + "' 2>'" + err + "'");
    if (code != 0) return "the setup failed with " + std::to_string(code) + "\n" + read(out) + read(err);
  }
  const int code = shell(read(work / "cmd"), work, ">'" + out + "' 2>'" + err + "' </dev/null");
  std::string text = "exit " + std::to_string(code) + "\n";
  if (const std::string o = read(out); !o.empty()) text += "--- stdout\n" + o;
  if (const std::string e = read(err); !e.empty()) text += "--- stderr\n" + e;
  return normalised(text, work.string());
}

std::vector<fs::path> cases() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(fs::path(kSourceDir) / "tests/errors/cases")) {
    if (entry.is_directory()) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("bad configs, data and command lines say what they must") {
  const char* update = std::getenv("LOCKSTEP_UPDATE");
  const char* only = std::getenv("LOCKSTEP_CASE");
  std::size_t count = 0;
  for (const fs::path& folder : cases()) {
    const std::string name = folder.filename().string();
    if (only != nullptr && name.find(only) == std::string::npos) continue;
    ++count;
    const std::string now = outcome(folder), then = read(folder / "expected");
    if (update != nullptr && *update == '1') {
      if (now != then) write(folder / "expected", now);
      continue;
    }
    CHECK_MESSAGE(now == then, name << " says now:\n" << now << "and must say (LOCKSTEP_UPDATE=1 accepts):\n" << then);
  }
  if (only == nullptr) CHECK(count >= 60);
}

TEST_CASE("every pain that is in reach has its case") {
  // Rows of tests/errors/pains.md: | pain | case, case | or | pain | test: file | or | pain | later: reason |
  std::ifstream in(fs::path(kSourceDir) / "tests/errors/pains.md");
  std::size_t rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| ") || line.starts_with("| pain") || line.starts_with("|--")) continue;
    ++rows;
    const std::size_t begin = line.find(" | ") + 3, end = line.rfind(" |");
    REQUIRE(begin < end);
    const std::string where = line.substr(begin, end - begin);
    if (where.starts_with("later: ")) continue;
    const bool file = where.starts_with("test: ");
    std::istringstream names(file ? where.substr(6) : where);
    for (std::string name; std::getline(names, name, ',');) {
      name.erase(0, name.find_first_not_of(' '));
      name = name.substr(0, name.find(' '));
      const fs::path path = file ? fs::path(kSourceDir) / name : fs::path(kSourceDir) / "tests/errors/cases" / name;
      CHECK_MESSAGE(fs::exists(path), "tests/errors/pains.md names " << name << ", which does not exist");
    }
  }
  CHECK(rows >= 50);
}
