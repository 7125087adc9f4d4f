// Commands as data: what each is called, takes and prints. Parsing, help, completion and error mapping come from it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/json.h"

namespace lockstep {

enum class OptionKind : std::uint8_t {
  flag,            // --new
  value,           // --threads N; may be given once
  optional_value,  // --resume or --resume=RUN, never `--resume RUN`
  repeated         // --tag a --tag b
};

struct OptionDef {
  std::string_view name;        // "--threads"
  std::string_view value_name;  // "N"; empty for flags
  std::string_view doc;         // one line, no full stop
  std::string_view fallback{};  // shown in the help, returned by value(); of optional_value: what the bare option means
  OptionKind kind = OptionKind::value;
  std::string_view short_name{};                // "-q"
  std::span<const std::string_view> choices{};  // empty: any value
};

struct PositionalDef {
  std::string_view name;  // "CONFIG"
  std::string_view doc;
  bool required = true;
  bool repeated = false;  // the last one only
};

/// Where a command's words go. Writing to stdout is checked: a full disk or a closed pipe is an Error{resource}.
class Console {
 public:
  explicit Console(std::FILE* out = stdout, std::FILE* err = stderr) : out_(out), err_(err) {}
  void set_json(bool json) { json_ = json; }
  void set_quiet(bool quiet) { quiet_ = quiet; }
  /// Whether --json was given: then stdout takes exactly one document and print() goes to stderr.
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  /// Whether the one document of --json is out.
  [[nodiscard]] bool printed_json() const { return printed_json_; }
  [[nodiscard]] std::FILE* out() const { return out_; }
  [[nodiscard]] std::FILE* err() const { return err_; }

  /// A result for people, on stdout; ended by a newline if it is not.
  void print(std::string_view text);
  /// The result for scripts, on stdout, indented. Once in a process.
  void print_json(const Json& document);
  /// The result: `document` with --json, else `text`.
  void result(std::string_view text, const Json& document);
  /// Remarks on stderr; info is dropped by --quiet.
  void info(std::string_view text);
  void warn(std::string_view text);
  /// Flushes stdout; Error{resource} if anything printed was lost.
  void flush();

 private:
  void write(std::string_view text);
  std::FILE* out_;
  std::FILE* err_;
  bool json_ = false, quiet_ = false, printed_json_ = false;
};

struct CommandDef;

/// What was on the command line, checked against the command's definition.
class Args {
 public:
  const CommandDef* command = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> options;      // by "--name"; only those given
  std::map<std::string, std::vector<std::string>, std::less<>> positionals;  // by name; only those given
  std::string runs_dir = "runs";  // --runs-dir, else LOCKSTEP_RUNS, else "runs"

  /// Whether the option was given.
  [[nodiscard]] bool has(std::string_view option) const;
  /// The option's value, else its fallback, else nothing.
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
  /// As value(), but a number: Error{usage} with the option's name when it is none or outside [low, high].
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view option, std::int64_t low,
                                                    std::int64_t high) const;
  [[nodiscard]] std::optional<double> number(std::string_view option, double low, double high) const;
  /// Every value of a repeated option.
  [[nodiscard]] std::vector<std::string> list(std::string_view option) const;
  /// A required positional; of an optional one, empty when it was not given.
  [[nodiscard]] std::string positional(std::string_view name) const;
  /// Every value of a repeated positional.
  [[nodiscard]] std::vector<std::string> rest(std::string_view name) const;
};

/// One command; src/cli/commands/<name with underscores>.cpp defines `extern constinit const CommandDef command_<stem>`.
struct CommandDef {
  std::string_view name;  // "train", "runs ls"
  std::string_view doc;   // one line, for the list of commands
  std::string_view about{};  // further lines of its help
  std::span<const PositionalDef> positionals{};
  std::span<const OptionDef> options{};
  std::string_view example{};  // one or more command lines
  /// Gives the exit code. Errors are thrown and mapped by main.
  int (*run)(const Args& args, Console& console);
  bool overrides = false;  // takes path=value arguments: explains them in its help
};

/// Every command of this binary, by file name.
std::span<const CommandDef* const> builtin_commands();

}  // namespace lockstep
