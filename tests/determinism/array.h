// The covering array: nuisance values for one run, split in two processes where it is resumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/cpu.h"

namespace lockstep::determinism {

/// What one process of a row runs with. Nothing here may change a bit.
struct Nuisance {
  int threads = 1;
  int workers = 0;
  Isa isa = Isa::scalar;
  int shards_per_pass = 1;
  friend bool operator==(const Nuisance&, const Nuisance&) = default;
};
/// One row: a run of `shards` shards (a part of the identity), stopped after step `resume_at` and continued by a second
/// process with other nuisance values.
struct Row {
  int shards = 4;
  Nuisance first, second;
  std::optional<std::int64_t> resume_at;
};

/// Steps of a run and of its epochs, which decide where resuming is interesting.
struct Length {
  std::int64_t steps = 0, steps_per_epoch = 0;
};

/// Rows in which every pair of values of two factors occurs: threads 1, 2, 3, 7; workers 0, 1, 4; the instruction sets of
/// this CPU; no resume, or after step 1, in the middle of an epoch, at its end, before the last step; four shards one by
/// one or at once, or one shard. The first row has the plainest value of each.
std::vector<Row> pairwise_rows(Length length);
/// As few rows as contain every value once.
std::vector<Row> short_rows(Length length);

/// The instruction sets that this CPU lacks: "avx512".
std::string missing_isas();

}  // namespace lockstep::determinism
