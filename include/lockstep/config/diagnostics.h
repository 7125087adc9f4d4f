// Diagnostics: everything that is wrong with a configuration, collected in one pass and shown like a compiler's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/base/json.h"
#include "lockstep/config/node.h"

namespace lockstep {

enum class Severity : std::uint8_t { error, warning };

/// One thing to say about a place. `message` names what is wrong and the values that disagree;
/// `suggestion` is the nearest legal text (shown as "did you mean '...'?"); each line of `note` is shown as it is.
struct Diagnostic {
  Origin origin{};
  std::string path{};         // `model.layers.2.out_features`
  std::string message{};
  std::string suggestion{};
  std::string note{};
  Severity severity = Severity::error;
};

/// A list of diagnostics. Adding the same one twice keeps one.
class Diagnostics {
 public:
  /// Adds one, unless an equal one (place, path, message) is there.
  void add(Diagnostic d);
  void error(const Origin& at, std::string path, std::string message, std::string suggestion = {},
             std::string note = {}, Site site = {});
  void warning(const Origin& at, std::string path, std::string message, std::string note = {});

  [[nodiscard]] bool has_errors() const;
  [[nodiscard]] std::size_t error_count() const;
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  /// Sorted by source (in the order in which sources first appeared), line and column; equal places keep their order.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;
  /// All of them as text: place, message, source line with a caret, suggestion, notes; then a count of errors.
  [[nodiscard]] std::string text() const;
  /// The errors as a list of {file, line, column, path, message, suggestion}; suggestion is null when there is none.
  [[nodiscard]] Json json() const;
  /// Throws Error(usage) with text() when there is an error.
  void throw_errors() const;

 private:
  std::vector<Diagnostic> list_;
};

/// One diagnostic as text, ended by a newline.
std::string render(const Diagnostic& d);

}  // namespace lockstep
