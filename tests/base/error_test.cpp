// Tests of base/error.h.
#include "lockstep/base/error.h"

#include <doctest/doctest.h>

#include "print.h"

using namespace lockstep;

TEST_CASE("an error carries the frames that are open, innermost first") {
  const int step = 7;
  const Frame outer("while training");
  const Frame inner([](const void* s) { return fmt::format("at step {}", *static_cast<const int*>(s)); }, &step);
  try {
    const Frame last("while reading");
    failf(Category::data, "{} rows, {} expected", 3, 4);
  } catch (const Error& error) {
    CHECK(error.category == Category::data);
    CHECK(error.message == "3 rows, 4 expected");
    CHECK(error.frames == std::vector<std::string>{"while reading", "at step 7", "while training"});
    CHECK(text(error) == "3 rows, 4 expected\n  while reading\n  at step 7\n  while training");
    CHECK(std::string(error.what()) == error.message);
  }
  CHECK(Error(Category::usage, "x").frames.size() == 2);
}

TEST_CASE("categories are exit codes") {
  CHECK(exit_code(Category::internal) == 1);
  CHECK(exit_code(Category::mismatch) == 6);
  CHECK(text(Category::numeric) == "numeric");
}
