// Tests of base/cpu.h, base/clock.h and base/signals.h.
#include <doctest/doctest.h>

#include <csignal>

#include "lockstep/base/clock.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/signals.h"
#include "print.h"

using namespace lockstep;

TEST_CASE("instruction sets have names") {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) CHECK(parse_isa(text(isa)) == isa);
  CHECK_FALSE(parse_isa("sse2").has_value());
  CHECK(supported(Isa::scalar));
  CHECK(supported(best_isa()));
  MESSAGE("widest instruction set here: " << std::string(text(best_isa())));
}

TEST_CASE("the floating-point environment is set and checked") {
  set_float_environment();
  CHECK(float_environment_ok());
  volatile double tiny = 0x1p-1022;
  CHECK(tiny / 2 != 0.0);
}

TEST_CASE("clocks") {
  const std::int64_t start = monotonic_ns();
  CHECK(monotonic_ns() >= start);
  CHECK(cpu_ns() > 0);
  CHECK(utc_text(0) == "1970-01-01T00:00:00.000Z");
  CHECK(utc_text(1'714'566'896'789'000'000) == "2024-05-01T12:34:56.789Z");
  CHECK(utc_text(-1) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("interrupts are counted") {
  watch_interrupts();
  clear_interrupts();
  std::raise(SIGINT);
  CHECK(interrupts() == 1);
  clear_interrupts();
  std::raise(SIGTERM);
  CHECK(interrupts() == 1);
  clear_interrupts();
  CHECK(interrupts() == 0);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}
