// Where the tests find the sources and the binary under test.
#pragma once

#include <string_view>

namespace lockstep::test {

// The root of the checkout, without a trailing slash.
extern const std::string_view kSourceDir;
// The build folder.
extern const std::string_view kBuildDir;
// The lockstep executable of this build.
extern const std::string_view kBinary;

}  // namespace lockstep::test
