// Text widths, and numbers, sizes, times and durations as people read them.
#include "lockstep/term/text_width.h"

#include <cmath>

#include "lockstep/base/clock.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

struct Range {
  char32_t first, last;
};
// Marks that take no column of their own, and characters that take two; the common blocks.
constexpr Range kZero[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x0e34, 0x0e3a},
                           {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                           {0xfe20, 0xfe2f}};
constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x33ff},   {0x3400, 0x4dbf},
                           {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                           {0xfe30, 0xfe4f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                           {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool within(char32_t c, const Range (&ranges)[N]) {
  for (const Range& r : ranges) {
    if (c >= r.first && c <= r.last) return true;
  }
  return false;
}

// The code point that starts at `at`, and its length in bytes; a broken byte stands for itself.
std::pair<char32_t, std::size_t> decode(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (length == 1 || at + length > s.size()) return {first, 1};
  char32_t c = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) c = (c << 6) | (byte(at + i) & 0x3fU);
  return {c, length};
}

int width_of(char32_t c) {
  if (c < 0x20 || c == 0x7f || within(c, kZero)) return 0;
  return within(c, kWide) ? 2 : 1;
}

// Three significant digits: 1.23, 12.3, 123.
std::string three(double value) {
  return value < 10 ? fmt::format("{:.2f}", value) : value < 100 ? fmt::format("{:.1f}", value)
                                                                 : fmt::format("{:.0f}", value);
}

}  // namespace

int text_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, length] = decode(text, at);
    width += width_of(c);
    at += length;
  }
  return width;
}

std::string fit(std::string_view text, int width) {
  if (text_width(text) <= width) return std::string(text);
  if (width <= 0) return {};
  int used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto [c, length] = decode(text, at);
    if (used + width_of(c) > width - 1) break;
    used += width_of(c);
    at += length;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string one_line(std::string_view text) {
  std::string out;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  for (const char c : text) {
    if (c == '\n') out += "; ";
    else out += c == '\t' ? ' ' : c;
  }
  return printable(out);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{:.5g}", value);
}

std::string count_text(double value) {
  if (std::isnan(value)) return "-";
  if (value < 0) return "-" + count_text(-value);
  if (value < 999.5) return value == std::floor(value) ? fmt::format("{:.0f}", value) : three(value);
  if (value < 999.5e3) return three(value / 1e3) + "k";
  if (value < 999.5e6) return three(value / 1e6) + "M";
  return three(value / 1e9) + "G";
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB"}) {
    value /= 1024;
    if (value < 1023.95) return fmt::format("{:.1f} {}", value, unit);
  }
  return fmt::format("{:.1f} TiB", value / 1024);
}

std::string duration_text(double seconds) {
  if (std::isnan(seconds)) return "-";
  if (seconds < 0) seconds = 0;
  if (seconds < 9.995) return fmt::format("{:.2f}s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f}s", seconds);
  if (seconds > 1e9) return "-";
  const auto whole = static_cast<std::int64_t>(std::floor(seconds + 0.5));
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole / 3600 % 24);
}

std::string time_text(std::int64_t wall_ns) {
  std::string out = utc_text(wall_ns).substr(0, 16);
  if (out.size() > 10) out[10] = ' ';
  return out;
}

}  // namespace lockstep
