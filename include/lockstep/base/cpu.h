// Instruction sets chosen at run time, and the floating-point environment every thread must have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep {

// Kernel variants. All give the same bits; `scalar` is the plain-loop oracle.
enum class Isa : std::uint8_t { scalar, avx2, avx512 };

// "scalar", "avx2", "avx512"
std::string_view text(Isa isa);
// The inverse of text(); nothing for any other word.
std::optional<Isa> parse_isa(std::string_view word);
// Whether this CPU and kernel run it. avx2 includes FMA; avx512 is F, BW, DQ, VL and CD.
bool supported(Isa isa);
// The widest supported one.
Isa best_isa();
// Whether the CPU has a fused multiply-add instruction.
bool has_fma();

// Round to nearest, no flush-to-zero, no denormals-are-zero, exceptions masked (NUMERICS A12).
void set_float_environment();
// Whether the calling thread has exactly that environment.
bool float_environment_ok();

}  // namespace lockstep
