// Writing to stdout and stderr, with every loss noticed.
#include <cerrno>
#include <cstring>

#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {

void Console::write(std::string_view text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), out_) == text.size();
  if (!whole) {
    failf(Category::resource, "cannot write to the standard output: {}; what was printed is incomplete",
          std::strerror(errno));
  }
}

void Console::print(std::string_view text) {
  if (json_) return info(text);
  write(printable(text));
  if (!text.ends_with('\n')) write("\n");
}

void Console::print_json(const Json& document) {
  const std::string text = document.shown(2) + "\n";
  printed_json_ = true;
  write(text);
}

void Console::result(std::string_view text, const Json& document) { json_ ? print_json(document) : print(text); }

void Console::info(std::string_view text) {
  if (quiet_) return;
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), err_);
  if (!text.ends_with('\n')) std::fputc('\n', err_);
}

void Console::warn(std::string_view text) { std::fputs(fmt::format("warning: {}\n", printable(text)).c_str(), err_); }

void Console::flush() {
  if (std::fflush(out_) != 0) {
    failf(Category::resource, "cannot write to the standard output: {}; what was printed is incomplete",
          std::strerror(errno));
  }
}

}  // namespace lockstep
