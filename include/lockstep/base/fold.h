// Sum of doubles with the lanes, chunks and tree of NUMERICS A4: the totals people read.
#pragma once

#include <span>

namespace lockstep {

/// Element i goes to lane i mod 16, chunks of 4096, lanes folded 8-4-2-1, chunks added as a pairwise tree. 0 for none.
double fold_sum(std::span<const double> v);

}  // namespace lockstep
