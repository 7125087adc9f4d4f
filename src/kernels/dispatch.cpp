// Chooses the instruction set of the CPU kernels, once per process or when told to.
#include <atomic>
#include <string>

#include "lockstep/base/error.h"
#include "lockstep/kernels/cpu.h"

namespace lockstep {
namespace {

constexpr int kUnknown = -1;
constinit std::atomic<int> chosen{kUnknown};

}  // namespace

void use_isa(Isa isa) {
  if (!supported(isa)) {
    std::string have;
    for (const Isa other : {Isa::scalar, Isa::avx2, Isa::avx512}) {
      if (supported(other)) have += (have.empty() ? "" : ", ") + std::string(text(other));
    }
    failf(Category::resource,
          "instruction set '{}' was asked for, but this CPU runs {}; choose one of these: results are equal on all",
          text(isa), have);
  }
  chosen.store(static_cast<int>(isa), std::memory_order_relaxed);
}

Isa current_isa() {
  const int now = chosen.load(std::memory_order_relaxed);
  if (now != kUnknown) return static_cast<Isa>(now);
  int before = kUnknown;
  const Isa widest = best_isa();
  chosen.compare_exchange_strong(before, static_cast<int>(widest), std::memory_order_relaxed);
  return before == kUnknown ? widest : static_cast<Isa>(before);
}

}  // namespace lockstep
