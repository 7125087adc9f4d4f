// Chooses the instruction set of the CPU kernels, once per process or when told to.
#include <atomic>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/kernels/cpu.h"

namespace lockstep {
namespace {

// What Highway's two targets are compiled with; a CPU that lacks one of these must not be given the set.
bool probe_avx2() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
         __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("aes") != 0;
#else
  return false;
#endif
}

bool probe_avx512() {
#if defined(__x86_64__)
  return probe_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0;
#else
  return false;
#endif
}

constexpr int kUnknown = -1;
constinit std::atomic<int> chosen{kUnknown};

}  // namespace

std::string_view text(Isa isa) {
  switch (isa) {
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::scalar: break;
  }
  return "scalar";
}

bool cpu_has(Isa isa) {
  static const bool avx2 = probe_avx2();
  static const bool avx512 = probe_avx512();
  return isa == Isa::scalar || (isa == Isa::avx2 && avx2) || (isa == Isa::avx512 && avx512);
}

Isa widest_isa() {
  if (cpu_has(Isa::avx512)) return Isa::avx512;
  return cpu_has(Isa::avx2) ? Isa::avx2 : Isa::scalar;
}

bool cpu_has_fma() {
#if defined(__x86_64__)
  static const bool fma = (__builtin_cpu_init(), __builtin_cpu_supports("fma") != 0);
  return fma;
#else
  return false;
#endif
}

void use_isa(Isa isa) {
  if (!cpu_has(isa)) {
    std::string have;
    for (const Isa other : {Isa::scalar, Isa::avx2, Isa::avx512}) {
      if (cpu_has(other)) have += (have.empty() ? "" : ", ") + std::string(text(other));
    }
    fail(Category::resource, "instruction set '" + std::string(text(isa)) + "' was asked for, but this CPU has " +
                                 have + "; choose one of these (results are equal on all of them)");
  }
  chosen.store(static_cast<int>(isa), std::memory_order_relaxed);
}

Isa current_isa() {
  const int now = chosen.load(std::memory_order_relaxed);
  if (now != kUnknown) return static_cast<Isa>(now);
  const Isa widest = widest_isa();
  int expected = kUnknown;
  chosen.compare_exchange_strong(expected, static_cast<int>(widest), std::memory_order_relaxed);
  return expected == kUnknown ? widest : static_cast<Isa>(expected);
}

}  // namespace lockstep
