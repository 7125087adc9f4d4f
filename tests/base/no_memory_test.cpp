// What runs out of memory midway leaves nothing half made: operator new of this binary fails where a test says so.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "lockstep/base/json.h"

namespace {

constinit thread_local long successes_left = -1;   // -1: nothing fails

}  // namespace

void* operator new(std::size_t size) {
  if (successes_left >= 0 && successes_left-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace lockstep;

TEST_CASE("a JSON value that cannot be copied leaves with bad_alloc") {
  const Json value = Json::object()
                         .set("a key that is too long to stand inside the string", Json::array().push("and a text that is as long").push(7))
                         .set("another", Json::object().set("x", 0.5));
  long failed = 0;
  bool done = false;
  while (!done) {
    Json assigned = "what was there before, as long as the others";
    successes_left = failed;
    try {
      const Json copy = value;
      assigned = copy;
      done = true;
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    successes_left = -1;
    CHECK(assigned == (done ? value : Json("what was there before, as long as the others")));
    REQUIRE(failed < 100);
  }
  CHECK(failed >= 10);
}
