// Text: values as messages show them, the nearest word, hex, quotes, UTF-8.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace lockstep {

// text(x): how a message shows x. Floats are the shortest digits that read back equal; ranges are "[2, 3]";
// an absent optional is "none". A type of ours adds its own overload in namespace lockstep.
inline std::string text(std::string_view s) { return std::string(s); }
template <std::integral T>  // bool too: a plain bool overload would take string literals
std::string text(T value) {
  return fmt::format("{}", value);
}
template <std::floating_point T>
std::string text(T value) {
  return fmt::format("{}", value);
}

template <class T>
std::string text(const std::vector<T>& items);
template <class T>
std::string text(const std::optional<T>& value);

template <class T>
std::string text(std::span<const T> items) {
  std::string out = "[";
  for (const T& item : items) {
    if (out.size() > 1) out += ", ";
    out += text(item);
  }
  return out + "]";
}
template <class T>
std::string text(const std::vector<T>& items) {
  return text(std::span<const T>(items));
}
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : std::string("none");
}

// The items' texts with `separator` between them.
template <class Range>
std::string join(const Range& items, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    out += text(item);
  }
  return out;
}

// 'word', with control characters, quotes and backslashes escaped, so that it stands on one line.
std::string quote(std::string_view word);

// The choice that a misspelt word most likely meant: Damerau-Levenshtein distance (adjacent swaps count one),
// case ignored and '-' equal to '_', at most a third of the word's length and at most 3 (at least 1).
// The earliest choice wins a tie. Where none is near enough, the one that begins as the word does (or that the word begins
// with), four letters at least; else nothing.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> choices);
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string> choices);

// Lower-case hexadecimal digits, two a byte.
std::string hex(std::span<const std::uint8_t> bytes);
// Sixteen digits, most significant first.
std::string hex(std::uint64_t value);
// The 16 digits of a double's bits, most significant first, and back; nothing for anything else.
std::string bits_text(double value);
std::optional<double> parse_bits(std::string_view digits);
// The bytes that hex() came from; nothing unless `digits` is an even number of hexadecimal digits.
std::optional<std::vector<std::uint8_t>> from_hex(std::string_view digits);

// The offset of the first byte that is not part of well-formed UTF-8 (no overlong forms, surrogates or values
// above U+10FFFF); nothing if all is well.
std::optional<std::size_t> utf8_error(std::string_view s);
// The text with U+FFFD for each byte that is not part of well-formed UTF-8.
std::string valid_utf8(std::string_view s);
// The text as a terminal may get it: control characters but newlines and tabs, and what is not UTF-8, as \x1b.
std::string printable(std::string_view s);
// How many code points well-formed UTF-8 holds: what a column counts.
std::size_t code_points(std::string_view s);

// The whole of `s` as a finite number or an integer in decimal; one leading '+' is allowed. Nothing if any
// character is left over, the value overflows, or (double) it is not finite.
std::optional<double> parse_double(std::string_view s);
std::optional<std::int64_t> parse_int(std::string_view s);

}  // namespace lockstep
