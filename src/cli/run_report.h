// A run as the store knows it, for `train`, `runs show` and scripts.
#pragma once

#include <string>

#include "lockstep/base/file.h"
#include "lockstep/base/json.h"
#include "lockstep/track/run_dir.h"
#include "lockstep/track/store.h"

namespace lockstep {

/// Keys of docs/formats.md, "train and runs show": run, name, status, reason, steps, epochs, state_hash, chain_hash,
/// metrics, wall_s, train_samples_per_s, step_ms_median, peak_rss_bytes, directory, identity, parent. Hashes and
/// measurements that are not known yet are null.
Json run_json(const Store& store, const RunRow& run);

/// The same for people: a table of facts and one of metrics.
std::string run_text(const Store& store, const RunRow& run);

/// What reap or reindex did, for people and for scripts: {"runs": [{"run", "action", "text"}]}
std::string reap_text(const std::vector<ReapResult>& results);
Json reap_json(const std::vector<ReapResult>& results);

/// Prints the store's warnings.
class Console;
void warn_about(const Store& store, Console& console);

}  // namespace lockstep
