// UTF-8: decoding one code point at a time, and columns.
#include "config/utf8.h"

namespace lockstep {

std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  constexpr std::uint32_t kBad = 0xFFFFFFFF;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t first = byte(i++);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xF0 && first < 0xF5 ? 3U : first >= 0xE0 && first < 0xF0 ? 2U
                           : first >= 0xC2 && first < 0xE0 ? 1U : 0U;
  if (more == 0 || i + more > text.size()) return kBad;
  std::uint32_t value = first & (0x3FU >> more);
  for (std::size_t k = 0; k < more; ++k) {
    const std::uint32_t b = byte(i + k);
    if ((b & 0xC0U) != 0x80U) return kBad;
    value = (value << 6U) | (b & 0x3FU);
  }
  const bool overlong = (more == 2 && value < 0x800) || (more == 3 && value < 0x10000);
  if (overlong || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return kBad;
  i += more;
  return value;
}

int count_code_points(std::string_view text) {
  int n = 0;
  for (std::size_t i = 0; i < text.size(); ++n) next_code_point(text, i);
  return n;
}

std::string_view line_of(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace lockstep
