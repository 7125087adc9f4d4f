// The committed reference of one identity: its chain, final state and metrics, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/json.h"
#include "lockstep/state/chain.h"

namespace lockstep::determinism {

/// What a run ended with.
struct Final {
  std::string state_hash;
  std::string metrics;      // "val/accuracy 0.5, val/loss 1.25": the last values, in the store's order
};
/// Of the JSON that `lockstep train` prints.
Final final_of(const Json& report);

struct Golden {
  Final end;
  std::vector<ChainRecord> chain;   // from step 1 on
};

/// The file names the fields of each step; hashes follow from them, and the last one is given to check the whole.
/// Throws data where a line does not parse or the last hash does not follow.
Golden read_golden(const std::string& path);
void write_golden(const std::string& path, const Golden& golden, const std::string& what);

/// The first difference of a run from the reference; nothing when equal.
struct Difference {
  std::int64_t step = 0;
  std::string field;        // as ChainDifference::what, or "state", "metrics"
};
/// `scratch` is a folder for the reference in chain.bin form.
std::optional<Difference> compare(const Golden& golden, const std::string& chain_path, const Final& end, const std::string& scratch);

}  // namespace lockstep::determinism
