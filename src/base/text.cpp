// Text helpers.
#include "lockstep/base/text.h"

#include <cmath>

namespace lockstep {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

// What nearest() compares: case and '-' against '_' do not count.
char fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

// Optimal string alignment distance of folded words: insert, delete, replace, swap neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = fold(a[i - 1]) == fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

// Whether one of the two is how the other begins, but for one slip: `warmup` and `warmup_steps`, `optimizer` and `optim`.
bool begins(std::string_view word, std::string_view choice) {
  if (std::min(word.size(), choice.size()) < 4) return false;
  if (word.size() > choice.size()) return distance(choice, word.substr(0, choice.size())) == 0;
  for (std::size_t n = word.size() - 1; n <= std::min(word.size() + 1, choice.size()); ++n)
    if (distance(word, choice.substr(0, n)) <= 1) return true;
  return false;
}

template <class Choices>
std::optional<std::string_view> nearest_of(std::string_view word, const Choices& choices) {
  const std::size_t limit = std::clamp<std::size_t>(word.size() / 3, 1, 3);
  std::optional<std::string_view> best;
  std::size_t best_distance = limit + 1;
  for (std::string_view choice : choices) {
    const std::size_t gap = choice.size() > word.size() ? choice.size() - word.size() : word.size() - choice.size();
    if (gap >= best_distance) continue;
    const std::size_t d = distance(word, choice);
    // A word of one or two letters must share at least one with its choice.
    if (d < best_distance && d < std::max(word.size(), choice.size())) {
      best = choice;
      best_distance = d;
    }
  }
  if (best) return best;
  std::size_t best_gap = std::string_view::npos;
  for (std::string_view choice : choices) {
    const std::size_t gap = choice.size() > word.size() ? choice.size() - word.size() : word.size() - choice.size();
    if (gap >= best_gap || !begins(word, choice)) continue;
    best = choice;
    best_gap = gap;
  }
  return best;
}

void append_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// Length of the well-formed sequence at the start of `s`, or 0.
std::size_t sequence(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(s[i])); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || s.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned next = byte(1);
  if (lead == 0xe0 && next < 0xa0) return 0;   // overlong
  if (lead == 0xed && next >= 0xa0) return 0;  // surrogate
  if (lead == 0xf0 && next < 0x90) return 0;   // overlong
  if (lead == 0xf4 && next >= 0x90) return 0;  // above U+10FFFF
  return length;
}

// The number without one leading '+'; empty when nothing or another sign follows it.
std::string_view unsigned_part(std::string_view s) {
  if (s.empty() || s[0] != '+') return s;
  s.remove_prefix(1);
  return !s.empty() && (s[0] == '-' || s[0] == '+') ? std::string_view() : s;
}

}  // namespace

std::string quote(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      append_escaped(out, c);
    } else {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "'";
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> choices) {
  return nearest_of(word, choices);
}
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string> choices) {
  return nearest_of(word, choices);
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

std::optional<std::vector<std::uint8_t>> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    if (error != std::errc() || end != digits.data() + i + 2) return std::nullopt;
    out.push_back(byte);
  }
  return out;
}

std::string bits_text(double value) { return hex(std::bit_cast<std::uint64_t>(value)); }

std::optional<double> parse_bits(std::string_view digits) {
  const auto bytes = from_hex(digits);
  if (!bytes || bytes->size() != sizeof(double)) return std::nullopt;
  std::uint64_t bits = 0;
  for (const std::uint8_t b : *bytes) bits = bits << 8 | b;
  return std::bit_cast<double>(bits);
}

std::optional<std::size_t> utf8_error(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = sequence(s.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::string valid_utf8(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = sequence(s.substr(i));
    out += length == 0 ? std::string_view("\ufffd") : s.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string printable(std::string_view s) {
  std::string out;
  out.reserve(s.size());
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t length = sequence(s.substr(i));
    const auto byte = static_cast<unsigned char>(s[i]);
    const bool harmless = length == 1 ? byte == '\n' || byte == '\t' || (byte >= 0x20 && byte != 0x7f)
                                      : length > 1 && !(byte == 0xc2 && static_cast<unsigned char>(s[i + 1]) < 0xa0);
    if (harmless) {
      out += s.substr(i, length);
    } else {
      for (const char c : s.substr(i, std::max<std::size_t>(length, 1))) append_escaped(out, c);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::size_t code_points(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::optional<double> parse_double(std::string_view s) {
  s = unsigned_part(s);
  double value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc() || end != s.data() + s.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_int(std::string_view s) {
  s = unsigned_part(s);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (s.empty() || error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

}  // namespace lockstep
