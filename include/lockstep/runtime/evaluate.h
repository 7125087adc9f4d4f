// Evaluation: loss and metrics over a whole split, a function of the weights and the data alone.
#pragma once

#include "lockstep/runtime/experiment.h"

namespace lockstep {

struct MetricValue {
  std::string name;                    // "val/accuracy"
  double value = 0;
};
struct Evaluation {
  std::vector<MetricValue> metrics;    // "<split>/loss" first, then the config's metrics in order
  std::int64_t samples = 0;
};

/// One pass over `split` without history, in evaluation mode. Every sample counts once; values per row are folded over
/// the whole split, so batch size and workers never matter. Touches no state. Nothing when `interrupts()` moved meanwhile.
std::optional<Evaluation> evaluate(const Experiment& e, const Split& split);

}  // namespace lockstep
