// What every loss shares: sums over rows.
#include "lockstep/loss/loss.h"

#include "lockstep/base/fold.h"
#include "lockstep/ops/ops.h"

namespace lockstep {

double Loss::weight(const Fields& batch) const {
  std::vector<double> weights;
  row_weights(batch, weights);
  return fold_sum(weights);
}

Tensor Loss::sum(const Fields& out, const Fields& batch) const { return total(rows(out, batch)); }

}  // namespace lockstep
