// What this build is: recorded with every run, never part of run identity.
#pragma once

#include <string_view>

namespace lockstep {

// "0.1.0"
std::string_view version();
// "Release" or "Debug"
std::string_view build_type();
// "GNU 12.2.0"
std::string_view compiler();
// The flags that every source is compiled with: "-O2 -ffp-contract=off ..."
std::string_view build_flags();

}  // namespace lockstep
