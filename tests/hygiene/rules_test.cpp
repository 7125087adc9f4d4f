// House rules that a reader of one file cannot check: lengths, macros, tokens that would cost bits, libm symbols.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>

#include "hygiene/files.h"
#include "paths.h"
#include "print.h"

using namespace lockstep::test;

namespace {

bool contains_word(const std::string& code, const std::string& word) {
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = code.find(word); at != std::string::npos; at = code.find(word, at + 1)) {
    const bool starts = at == 0 || !is_name(code[at - 1]) || !is_name(word.front());
    const std::size_t end = at + word.size();
    if (starts && (end >= code.size() || !is_name(code[end]) || !is_name(word.back()))) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("headers have at most 200 lines, sources 500, and each says first what it is") {
  std::vector<std::string> wrong;
  for (const SourceFile& file : source_files()) {
    const std::size_t count = lines(file.text).size(), limit = file.path.ends_with(".h") ? 200 : 500;
    if (count > limit) wrong.push_back(file.path + ": " + std::to_string(count) + " of " + std::to_string(limit));
    if (!file.text.starts_with("//")) wrong.push_back(file.path + ": the first line is no comment");
  }
  CHECK(wrong == std::vector<std::string>());
}

TEST_CASE("at most eight macros, all of them LOCKSTEP_") {
  std::set<std::string> names;
  std::vector<std::string> wrong;
  const std::regex define(R"(^\s*#\s*define\s+(\w+))");
  for (const SourceFile& file : source_files()) {
    for (const std::string& line : lines(file.code)) {
      std::smatch match;
      if (!std::regex_search(line, match, define)) continue;
      const std::string name = match[1];
      // Names that other libraries ask for, and the guards of files included once per vector target.
      if (name.starts_with("HWY_") || name.starts_with("DOCTEST_") || name.starts_with("OPENSSL_")) continue;
      if (name.ends_with("_INL_H")) continue;
      if (!name.starts_with("LOCKSTEP_")) wrong.push_back(file.path + ": " + name);
      names.insert(name);
    }
  }
  CHECK(wrong == std::vector<std::string>());
  CHECK_MESSAGE(names.size() <= 8, show(std::vector<std::string>(names.begin(), names.end())));
}

TEST_CASE("nothing whose order or rounding the compiler or library may choose") {
  // A6 of the numeric contract; R2; A14. lanes-inl.h is where the order of lanes is decided.
  const std::array<const char*, 20> forbidden = {
      "SumOfLanes",   "hadd",        "_mm512_reduce_add_ps", "_mm512_reduce_add_pd", "std::reduce",
      "transform_reduce", "std::accumulate", "ReciprocalSqrt", "ApproximateReciprocal", "_mm256_hadd_ps",
      "std::shuffle", "random_device", "mt19937",            "mt19937_64",           "std::rand",
      "srand",        "unordered_map", "unordered_set",      "std::hash",            "#pragma omp"};
  std::vector<std::string> wrong;
  for (const SourceFile& file : source_files()) {
    if (file.path.starts_with("tests/") || file.path.ends_with("lanes-inl.h")) continue;
    for (const char* word : forbidden) {
      if (contains_word(file.code, word)) wrong.push_back(file.path + ": " + word);
    }
    for (const std::string& name : includes(file)) {
      if (name == "random" || name == "unordered_map" || name == "unordered_set") {
        wrong.push_back(file.path + " includes <" + name + ">");
      }
    }
    if (std::regex_search(file.code, std::regex(R"(atomic<\s*(float|double))"))) wrong.push_back(file.path + ": float atomic");
  }
  CHECK(wrong == std::vector<std::string>());
}

TEST_CASE("exit and abort stay out of the engine") {
  std::vector<std::string> wrong;
  for (const SourceFile& file : source_files()) {
    if (file.path.starts_with("tests/")) continue;
    for (const char* word : {"std::exit", "std::abort", "_exit", "quick_exit", "std::terminate"}) {
      if (contains_word(file.code, word)) wrong.push_back(file.path + ": " + word);
    }
  }
  CHECK(wrong == std::vector<std::string>());
}

TEST_CASE("no libm transcendental function on a path to bits") {
  // Undefined symbols of the objects of kernels, ops, optimizers, schedules and of everything else that computes.
  const std::set<std::string> functions = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos", "tan",
                                           "sincos", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "erf",
                                           "erfc", "tgamma", "lgamma", "cbrt", "hypot", "fma"};
  const std::array<std::string, 10> folders = {
      "lockstep_base.dir", "lockstep_kernels.dir", "lockstep_ops.dir", "lockstep_optim.dir", "lockstep_nn.dir",
      "lockstep_loss.dir", "lockstep_autograd.dir", "lockstep_registry_optimizers.dir",
      "lockstep_registry_schedules.dir", "lockstep_registry_losses.dir"};
  std::vector<std::string> wrong;
  std::size_t objects = 0;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = std::filesystem::path(kBuildDir) / "CMakeFiles" / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".o") continue;
      ++objects;
      const std::string command = "nm --undefined-only '" + entry.path().string() + "'";
      const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
      REQUIRE(pipe != nullptr);
      std::array<char, 4096> line{};
      while (fgets(line.data(), static_cast<int>(line.size()), pipe.get()) != nullptr) {
        const std::string text(line.data());
        std::string name = text.substr(text.find_last_of(' ') + 1);
        name = name.substr(0, name.find_first_of("@\n"));
        const std::string base = name.ends_with("f") && name != "erf" ? name.substr(0, name.size() - 1) : name;
        if (functions.contains(name) || functions.contains(base)) {
          wrong.push_back(entry.path().filename().string() + " needs " + name);
        }
      }
    }
  }
  CHECK(wrong == std::vector<std::string>());
  CHECK(objects > 10);
}
