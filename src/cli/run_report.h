// A run as the store knows it, for `train`, `runs show` and scripts.
#pragma once

#include <string>

#include "lockstep/base/json.h"
#include "lockstep/track/store.h"

namespace lockstep {

/// Keys of docs/formats.md, "train and runs show": run, name, status, reason, steps, epochs, state_hash, chain_hash, metrics,
/// wall_s, train_samples_per_s, step_ms_median, peak_rss_bytes, directory, identity, parent.
Json run_json(const Store& store, const RunRow& run);

}  // namespace lockstep
