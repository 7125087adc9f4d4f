// The list of controls; the mutated binaries are made in CMakeLists.txt beside it.
#include "determinism/controls.h"

#include "lockstep/base/error.h"

namespace lockstep::determinism {
namespace {

bool always(const Nuisance&, bool) { return true; }
bool when_resumed(const Nuisance&, bool resumed) { return resumed; }
bool with_workers(const Nuisance& n, bool) { return n.workers > 0; }
bool with_threads(const Nuisance& n, bool) { return n.threads > 1; }

const std::vector<Control>& controls() {
  static const std::vector<Control> all = {
      {"contraction", "the optimizers' kernels compiled with -ffp-contract=fast", {}, &always, "parameters"},
      {"swapped_adds", "host totals folded 1-2-4-8 instead of 8-4-2-1", {}, &always, "gradient norm", 1},
      {"coefficient", "a coefficient of GELU's polynomial moved by one unit in the last place", {}, &always, "gradient norm"},
      {"seed", "seed + 1", {"seed=8"}, &always, "batch"},
      {"lost_slot", "AdamW's second moment left out of the checkpoint", {}, &when_resumed, "parameters"},
      {"out_of_order", "the loader delivers the batches of each pair in the wrong order", {}, &with_workers, "batch"},
      {"thread_tree", "the sums of matrix products cut into as many chunks as there are threads", {}, &with_threads, "loss"},
      {"skipped_batch", "one batch skipped on resume", {}, &when_resumed, "batch"},
  };
  return all;
}

}  // namespace

const Control& control(std::string_view name) {
  std::string names;
  for (const Control& c : controls()) {
    if (c.name == name) return c;
    names += (names.empty() ? "" : ", ") + std::string(c.name);
  }
  failf(Category::usage, "there is no control '{}'; there are {}", name, names);
}

std::int64_t first_affected_step(const Control& c, const Row& row) {
  if (c.affects(row.first, false)) return 1 + c.delay;
  if (row.resume_at && c.affects(row.second, true)) return *row.resume_at + 1 + c.delay;
  return kNever;
}

}  // namespace lockstep::determinism
