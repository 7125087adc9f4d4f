// One invocation of lockstep, and the one catch.
#include "cli/run.h"

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

#include "cli/parse.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::string_view kReport =
    "this is a bug in lockstep: please report it with the command, the config and this message";

constexpr std::string_view kNoMemory = "out of memory. Use a smaller batch, or free memory and resume the run";

// The message on stderr, and on stdout as the document that --json promised.
int report(Console& console, bool json, std::string_view category, int code, const std::string& message,
           const std::vector<std::string>& frames) {
  // Diagnostics of a config already say "file:line:column: error: ..." line by line.
  const std::string first = message.substr(0, message.find('\n'));
  const bool labelled = first.find(": error: ") != std::string::npos || first.find(": warning: ") != std::string::npos;
  std::string text = fmt::format("{}{}{}", labelled ? "" : "error: ", message, message.ends_with('\n') ? "" : "\n");
  for (const std::string& frame : frames) text += fmt::format("  {}\n", frame);
  text = printable(text);
  std::fflush(console.out());
  std::fwrite(text.data(), 1, text.size(), console.err());
  if (json && !console.printed_json()) {
    try {
      console.print_json(error_json(category, code, message, frames));
      console.flush();
    } catch (...) {
      // stdout is what failed; stderr and the exit code have said so.
    }
  }
  return code;
}

// One invocation whose errors are said.
int run_reported(std::span<const std::string> arguments, std::span<const CommandDef* const> commands, Console& console,
                 void (*prepare)(), bool json) {
  try {
    const char* runs = std::getenv("LOCKSTEP_RUNS");
    const Invocation invocation = parse(arguments, commands, runs == nullptr ? "" : runs);
    int code = 0;
    if (invocation.command == nullptr) {
      console.set_json(json);
      console.result(invocation.text, invocation.document);
    } else {
      console.set_json(invocation.json);
      console.set_quiet(invocation.quiet);
      prepare();
      code = invocation.command->run(invocation.args, console);
    }
    console.flush();
    return code;
  } catch (const Error& error) {
    std::string message = error.message;
    if (error.category == Category::internal) message += fmt::format(" (at {}:{})\n{}", error.site.file, error.site.line, kReport);
    return report(console, json, text(error.category), exit_code(error.category), message, error.frames);
  } catch (const std::bad_alloc&) {
    return report(console, json, "resource", exit_code(Category::resource), std::string(kNoMemory), {});
  } catch (const std::length_error&) {   // more than any memory holds
    return report(console, json, "resource", exit_code(Category::resource), std::string(kNoMemory), {});
  } catch (const std::system_error& error) {   // what the system refused outside our own file layer: threads, paths
    const Category category = errno_category(error.code().value());
    return report(console, json, text(category), exit_code(category),
                  fmt::format("the system refused: {}{}", error.what(),
                              category == Category::data ? "" : "; free memory, or raise the limits that `ulimit -a` shows"), {});
  } catch (const std::exception& error) {
    return report(console, json, "internal", exit_code(Category::internal),
                  fmt::format("{}\n{}", error.what(), kReport), {});
  }
}

}  // namespace

Json error_json(std::string_view category, int exit_code, std::string_view message,
                const std::vector<std::string>& frames) {
  Json list = Json::array();
  for (const std::string& frame : frames) list.push(frame);
  return Json::object().set(
      "error", Json::object()
                   .set("category", category)
                   .set("exit_code", exit_code)
                   .set("message", message)
                   .set("frames", std::move(list)));
}

int run_cli(std::span<const std::string> arguments, std::span<const CommandDef* const> commands, Console& console,
            void (*prepare)()) {
  const bool json = asks_json(arguments);
  try {
    return run_reported(arguments, commands, console, prepare, json);
  } catch (...) {   // not even the report found memory: nothing here may ask for any
    std::fprintf(console.err(), "error: %s\n", kNoMemory.data());
    if (json && !console.printed_json()) {
      std::fprintf(console.out(), R"({"error": {"category": "resource", "exit_code": 5, "message": "%s", "frames": []}})" "\n", kNoMemory.data());
      std::fflush(console.out());
    }
    return exit_code(Category::resource);
  }
}

}  // namespace lockstep
