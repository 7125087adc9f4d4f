// Numbers as a config writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

/// Sign, digits, `.`, exponent; nothing else. False with `why` for other texts and values that a double cannot hold.
bool parse_config_double(std::string_view text, double& out, std::string& why);
/// The same texts, when their value is an integer of 64 bits: `1e3` is 1000.
bool parse_config_int(std::string_view text, std::int64_t& out, std::string& why);

}  // namespace lockstep
