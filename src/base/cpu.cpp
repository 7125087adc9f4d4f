// CPU features and the floating-point control register.
#include "lockstep/base/cpu.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lockstep {

namespace {

#if defined(__x86_64__)
constexpr unsigned kControl = 0x1f80;  // all exceptions masked, nearest, no FTZ, no DAZ
constexpr unsigned kFlags = 0x3f;      // sticky exception flags: not part of the environment

Isa probe() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::scalar;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
  return wide ? Isa::avx512 : Isa::avx2;
}
bool probe_fma() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("fma") != 0;
}
#else
Isa probe() { return Isa::scalar; }
bool probe_fma() { return true; }
#endif

constexpr std::string_view kNames[] = {"scalar", "avx2", "avx512"};

}  // namespace

std::string_view text(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> parse_isa(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (word == kNames[i]) return static_cast<Isa>(i);
  }
  return std::nullopt;
}

Isa best_isa() {
  static const Isa best = probe();
  return best;
}

bool supported(Isa isa) { return isa <= best_isa(); }

bool has_fma() {
  static const bool fma = probe_fma();
  return fma;
}

#if defined(__x86_64__)
void set_float_environment() { _mm_setcsr(kControl); }
bool float_environment_ok() { return (_mm_getcsr() & ~kFlags) == kControl; }
#else
void set_float_environment() {}
bool float_environment_ok() { return true; }
#endif

}  // namespace lockstep
