// Errors: one exception type, with the frames that were open where it was made.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace lockstep {

// What kind of failure it is; the value is the process's exit code.
enum class Category : std::uint8_t { internal = 1, usage = 2, data = 3, numeric = 4, resource = 5, mismatch = 6, interrupted = 130 };

// "internal", "usage", ...
std::string_view text(Category category);

// Internal, usage or config, data, numeric, resource, determinism mismatch; 130: a signal asked to stop, nothing is lost.
constexpr int exit_code(Category category) { return static_cast<int>(category); }

// Of a refused system call: data where the path is what is wrong (missing, forbidden, a loop), else resource.
Category errno_category(int code);

// Says what the code is doing for as long as it lives; Errors made meanwhile on this thread carry its text.
// Costs two stores: the text is rendered only when an Error is constructed. Frames nest strictly (locals only).
class Frame {
 public:
  // Renders a frame from the context that was handed over with it.
  using Render = std::string (*)(const void* context);

  // `what` must outlive the frame: "while reading the checkpoint".
  explicit Frame(std::string_view what) : what_(what), below_(top_) { top_ = this; }
  // `context` must outlive the frame.
  Frame(Render render, const void* context) : render_(render), context_(context), below_(top_) { top_ = this; }
  ~Frame() { top_ = below_; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::string text() const;
  const Frame* below() const { return below_; }

  // The innermost open frame of this thread, or null.
  static const Frame* top() { return top_; }
  // Lets a pool worker continue the caller's frames; returns what was there before.
  static const Frame* exchange_top(const Frame* frame) { return std::exchange(top_, frame); }

 private:
  static constinit thread_local const Frame* top_;
  std::string_view what_;
  Render render_ = nullptr;
  const void* context_ = nullptr;
  const Frame* below_;
};

// The place in the sources that found something wrong: `Site site = {}` as the last parameter is the caller's line.
// A function that takes one passes it on, so that the place is where the message was written.
struct Site {
  const char* file = __builtin_FILE();  // "src/base/json.cpp"
  int line = __builtin_LINE();
};

// Where LOCKSTEP_ERROR_LOG names a file, appends "src/base/json.cpp:93" to it, once a site and process: the tests use it
// to know which error texts were seen (tests/errors/). Every Error and every Diagnostics::error calls it.
void note_error_site(const Site& site);

// The one exception type. `message` says what is wrong, the two values that disagree, the rule, what to do.
class Error : public std::exception {
 public:
  // Captures the open frames of this thread, innermost first.
  Error(Category category_, std::string message_, Site site_ = {});
  const char* what() const noexcept override { return message.c_str(); }

  Category category;
  std::string message;
  std::vector<std::string> frames;
  bool no_space = false;  // a resource error: the file system or a quota is full, and trying again is useless
  Site site;  // for reports of bugs; never part of text()
};

// The message, then one indented line a frame, innermost first; no trailing newline.
std::string text(const Error& error);

// Throws Error(category, message).
[[noreturn]] void fail(Category category, std::string message, Site site = {});

// A format string of fmt, checked while compiling, and the line that it stands on.
template <class... A>
struct SitedFormat {
  template <class Text>
  consteval SitedFormat(const Text& text, Site site_ = {}) : format(text), site(site_) {}  // NOLINT: implicit on purpose
  fmt::format_string<A...> format;
  Site site;
};

// fail() with fmt's format string.
template <class... A>
[[noreturn]] void failf(Category category, std::type_identity_t<SitedFormat<A...>> format, A&&... args) {
  fail(category, fmt::format(format.format, std::forward<A>(args)...), format.site);
}

}  // namespace lockstep
