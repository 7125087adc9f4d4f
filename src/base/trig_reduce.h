// Reduces large arguments of sin and cos exactly (Payne and Hanek 1983).
#pragma once

#include <cstdint>

namespace lockstep {

// x = (high + low) + quadrant * pi/2 + a multiple of 2 pi, |high| <= pi/4, 0 <= quadrant < 4.
struct Reduced {
  double high, low;
  std::int64_t quadrant;
};

// For finite |x| >= 2^30.
Reduced reduce_large(double x);

}  // namespace lockstep
