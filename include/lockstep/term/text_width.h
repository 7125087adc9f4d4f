// How wide text is on a terminal, and numbers, sizes, times and durations as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// Columns that UTF-8 text takes: East Asian wide characters two, combining marks none. Control characters count none.
int text_width(std::string_view text);
/// The longest start of `text` that fits into `width` columns; what is cut off is shown as `…`.
std::string fit(std::string_view text, int width);

/// The text on one line and without control characters: line ends become `; `, the rest as printable().
std::string one_line(std::string_view text);

/// A metric for people: five significant digits, "nan" and "inf" as they are; 1e-3 stays 0.001.
std::string number_text(double value);
/// 950, 12.3k, 4.56M
std::string count_text(double value);
/// 512 B, 1.5 KiB, 3.2 GiB
std::string bytes_text(std::int64_t bytes);
/// 0.42s, 12.3s, 4m 05s, 2h 07m, 3d 04h
std::string duration_text(double seconds);
/// "2024-05-01 12:34" in UTC
std::string time_text(std::int64_t wall_ns);

}  // namespace lockstep
