// Which instruction set the CPU kernels run with.
#pragma once

#include "lockstep/base/cpu.h"

namespace lockstep {

/// Makes every later kernel call run `isa`. Results do not change, only the time they take.
/// Throws resource when the CPU lacks the set, naming what it has.
void use_isa(Isa isa);
/// What runs: the widest set that this CPU has, unless use_isa said otherwise.
Isa current_isa();

}  // namespace lockstep
