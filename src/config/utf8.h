// UTF-8: decoding one code point at a time, and columns.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// The code point at byte `i`, which is moved past it. 0xFFFFFFFF, and `i` moved by one, when it is not valid UTF-8
/// (overlong forms, surrogates and values above U+10FFFF are not).
std::uint32_t next_code_point(std::string_view text, std::size_t& i);

/// Code points in `text`; an invalid byte counts as one.
int count_code_points(std::string_view text);

/// Line `line` (from 1) of the text, without its end.
std::string_view line_of(std::string_view text, int line);

}  // namespace lockstep
