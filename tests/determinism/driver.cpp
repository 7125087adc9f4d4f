// The determinism array: one run under many nuisance values, each in real processes of a lockstep binary, must give the
// committed chains. With --control a deliberately broken binary must be caught, at the step where it goes wrong.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/core.h>

#include "determinism/array.h"
#include "determinism/controls.h"
#include "determinism/golden.h"
#include "determinism/process.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "temp_folder.h"

namespace lockstep::determinism {
namespace {

struct Options {
  std::string binary, config = "configs/array.yaml", golden_dir = "tests/determinism/golden";
  const Control* control = nullptr;
  bool only_short = false, write_golden = false;
};

/// What came of one row: a chain, or the exit code of the process that failed.
struct Result {
  int exit_code = 0;
  std::string message;          // error line of a process that failed
  std::string chain_path, identity;
  Final end;
};

Result run_row(const Options& o, const Row& row, const std::string& dir) {
  make_dirs(real_files(), dir);
  Result result;
  const auto process = [&](const Nuisance& n, std::vector<std::string> more) {
    std::vector<std::string> a = {o.binary, "train", o.config, "--json", "--runs-dir", dir, "--threads", text(n.threads), "--isa", std::string(text(n.isa)),
                                  "data.loader.workers=" + text(n.workers), "train.shards=" + text(row.shards), "train.shards_per_pass=" + text(n.shards_per_pass)};
    if (o.control != nullptr) a.insert(a.end(), o.control->overrides.begin(), o.control->overrides.end());
    a.insert(a.end(), more.begin(), more.end());
    const Outcome out = run_process(a, dir);
    result.exit_code = out.exit_code;
    if (out.exit_code != 0) {
      const std::size_t error = out.err.rfind("error: ");
      result.message = out.err.substr(error == std::string::npos ? 0 : error, 200);
      result.message.resize(std::min(result.message.find('\n'), result.message.size()));
      return;
    }
    const Json report = Json::parse(out.out, "output of lockstep train");
    result.chain_path = join_path(report.at("directory").string(), "chain.bin");
    result.identity = report.at("identity").dump();
    result.end = final_of(report);
  };
  if (!row.resume_at) {
    process(row.first, {});
    return result;
  }
  process(row.first, {"train.max_steps=" + text(*row.resume_at)});
  if (result.exit_code == 0) process(row.second, {"--resume"});
  return result;
}

std::string pair_text(const Row& r, const std::string& first, const std::string& second) {
  return !r.resume_at || first == second ? first : first + ">" + second;
}

std::string row_text(const Row& r) {
  const auto isa = [](const Nuisance& n) { return std::string(text(n.isa)); };
  return fmt::format("{:<7}  {:<7}  {:<13}  {:<6}  {:<13}", pair_text(r, text(r.first.threads), text(r.second.threads)), pair_text(r, text(r.first.workers), text(r.second.workers)),
                     pair_text(r, isa(r.first), isa(r.second)), r.resume_at ? text(*r.resume_at) : "-",
                     fmt::format("{} in {}", r.shards, pair_text(r, text(r.shards / r.first.shards_per_pass), text(r.shards / r.second.shards_per_pass))));
}

/// What a row gave, in words, and whether that is what was expected.
struct Verdict {
  std::string words;
  bool expected = true;
  std::optional<Difference> difference;
};

Verdict judge(const Options& o, const Row& row, const Result& result, const Golden& golden, const std::string& scratch) {
  Verdict v;
  const std::int64_t at = o.control != nullptr ? first_affected_step(*o.control, row) : kNever;
  if (result.exit_code != 0) {
    v.words = fmt::format("exit {}: {}", result.exit_code, result.message);
    v.expected = false;
    v.difference = Difference{0, fmt::format("exit {}", result.exit_code)};
    return v;
  }
  v.difference = compare(golden, result.chain_path, result.end, scratch);
  v.words = v.difference ? fmt::format("DIFFERS at step {}: {}", v.difference->step, v.difference->field) : "equal";
  v.expected = v.difference.has_value() == (at != kNever);
  if (at != kNever && v.difference) v.expected = v.difference->step == at && v.difference->field == o.control->field;
  if (!v.expected && o.control != nullptr) v.words += at == kNever ? " (expected: equal)" : fmt::format(" (expected: step {}: {})", at, o.control->field);
  return v;
}

std::string golden_path(const Options& o, int shards) { return join_path(o.golden_dir, fmt::format("array_shards{}.txt", shards)); }

/// Runs all rows; 0, or 6 and the first difference.
int run_array(const Options& o) {
  const test::TempFolder scratch;
  // 30 steps of 6: the references say it, so that the array follows the config.
  std::map<int, Golden> golden;
  Length length{30, 6};
  if (!o.write_golden) {
    for (const int shards : {4, 1}) golden[shards] = read_golden(golden_path(o, shards));
    length.steps = static_cast<std::int64_t>(golden[4].chain.size());
  }
  const std::vector<Row> rows = o.only_short || o.control != nullptr ? short_rows(length) : pairwise_rows(length);
  if (const std::string missing = missing_isas(); !missing.empty()) fmt::print("skipped: {} (not on this CPU)\n", missing);
  fmt::print(" #  threads  workers  isa            resume  shards         chain             result\n");
  std::map<int, std::string> identity;
  std::optional<Difference> first;
  bool as_expected = true;
  std::size_t different = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::string dir = join_path(scratch.path(), text(i));
    const Result result = run_row(o, row, dir);
    if (o.write_golden && result.exit_code == 0 && !golden.contains(row.shards)) {
      const auto steps = chain_steps(real_files(), result.chain_path).value_or(0);
      golden[row.shards] = {result.end, read_chain(real_files(), result.chain_path, 1, steps + 1)};
      write_golden(golden_path(o, row.shards), golden[row.shards], fmt::format("{} with train.shards={}; written by the determinism driver with --write-golden", o.config, row.shards));
    }
    if (!golden.contains(row.shards)) failf(Category::data, "no reference for train.shards={}: the first run of it ended with exit {}: {}", row.shards, result.exit_code, result.message);
    Verdict v = judge(o, row, result, golden.at(row.shards), scratch.path());
    if (result.exit_code == 0) {
      const auto [known, fresh] = identity.emplace(row.shards, result.identity);
      if (!fresh && known->second != result.identity) {
        v.words += "; another identity: one of these values is no nuisance";
        v.expected = false;
        if (!v.difference) v.difference = Difference{0, "identity"};
      }
    }
    std::string chain = "-";
    if (result.exit_code == 0) chain = hex(read_chain(real_files(), result.chain_path, *chain_steps(real_files(), result.chain_path)).h).substr(0, 16);
    fmt::print("{:>2}  {}  {:<16}  {}\n", i + 1, row_text(row), chain, v.words);
    std::fflush(stdout);
    as_expected = as_expected && v.expected;
    if (v.difference) {
      ++different;
      if (!first || v.difference->step < first->step) first = v.difference;
    }
    std::filesystem::remove_all(dir);
  }
  const int code = first ? exit_code(Category::mismatch) : 0;
  if (o.control != nullptr) {
    fmt::print("control {}: {}\n", o.control->name, o.control->what);
    if (first) fmt::print("  exit code {}, first at step {}: {}; {} of {} rows differ\n", code, first->step, first->field, different, rows.size());
    fmt::print("  {}\n", as_expected && first ? "detected where it was expected" : first ? "NOT where it was expected" : "NOT DETECTED");
    return as_expected && first ? 0 : 1;
  }
  if (first) {
    fmt::print("exit code {}: {} of {} rows differ, first at step {}: {}\n", code, different, rows.size(), first->step, first->field);
  } else {
    fmt::print("one hash over {} rows: 4 shards {}, 1 shard {}\n", rows.size(), golden.at(4).end.state_hash.substr(0, 16), golden.at(1).end.state_hash.substr(0, 16));
  }
  return code;
}

constexpr std::string_view kUsage =
    "usage: determinism_array BINARY [--short] [--control NAME] [--config FILE] [--golden DIR] [--write-golden]\n"
    "Runs `BINARY train` under other threads, workers, instruction sets, shard passes and resume points and compares each\n"
    "chain with the committed one. Exit code 0: all equal; 6: not, with the first step and field. With --control: 0 when\n"
    "the broken binary was caught at the expected steps, else 1.\n";

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) failf(Category::usage, "{} needs a value\n{}", a, kUsage);
      return argv[i];
    };
    if (a == "--short") o.only_short = true;
    else if (a == "--write-golden") o.write_golden = true;
    else if (a == "--config") o.config = value();
    else if (a == "--golden") o.golden_dir = value();
    else if (a == "--control") o.control = &control(value());
    else if (o.binary.empty() && !a.starts_with("-")) o.binary = a;
    else failf(Category::usage, "'{}' is not understood\n{}", a, kUsage);
  }
  if (o.binary.empty()) failf(Category::usage, "no binary is given\n{}", kUsage);
  return o;
}

}  // namespace
}  // namespace lockstep::determinism

int main(int argc, char** argv) {
  try {
    return lockstep::determinism::run_array(lockstep::determinism::parse(argc, argv));
  } catch (const lockstep::Error& e) {
    fmt::print(stderr, "error: {}\n", e.message);
    return lockstep::exit_code(e.category);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
