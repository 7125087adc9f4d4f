// Instruction sets of the CPU kernels: which this machine has, and which one runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// scalar: plain loops, the oracle that every other set is compared with byte for byte.
enum class Isa : std::uint8_t { scalar, avx2, avx512 };

/// "scalar", "avx2", "avx512".
std::string_view text(Isa isa);
/// Whether this CPU and its operating system can run the set. scalar: always.
bool cpu_has(Isa isa);
/// The widest set that this CPU has; what runs unless use_isa says otherwise.
Isa widest_isa();
/// Whether the CPU multiplies and adds in one rounding; without it the scalar set emulates that exactly.
bool cpu_has_fma();

/// Makes every later kernel call run `isa`. Results do not change, only the time they take.
/// Throws resource when the CPU lacks the set, naming what it has.
void use_isa(Isa isa);
Isa current_isa();

}  // namespace lockstep
