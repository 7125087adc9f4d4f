// What metrics share.
#include "lockstep/metric/metric.h"

#include <limits>

#include "lockstep/base/fold.h"

namespace lockstep {

double mean_of(const MetricRows& r) {
  if (r.values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return fold_sum(r.values) / static_cast<double>(r.values.size());
}

}  // namespace lockstep
