// Tests of base/version.h.
#include "lockstep/base/version.h"

#include <doctest/doctest.h>

TEST_CASE("the build says what it is") {
  CHECK(lockstep::version() == "0.1.0");
  CHECK_FALSE(lockstep::compiler().empty());
  CHECK(lockstep::build_flags().find("-ffp-contract=off") != std::string_view::npos);
}
