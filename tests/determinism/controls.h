// Negative controls: what is broken on purpose, and where a suite that works must notice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "determinism/array.h"

namespace lockstep::determinism {

struct Control {
  std::string_view name;                       // of the binary lockstep_mutant_<name>, or of an override
  std::string_view what;
  std::vector<std::string> overrides;          // for a control that needs no binary of its own
  /// Whether a process with these values goes wrong; `resumed`: it continues a run.
  bool (*affects)(const Nuisance& n, bool resumed) = nullptr;
  std::string_view field;                      // what differs first
  std::int64_t delay = 0;                      // right steps that an affected process still takes
};

/// The control of that name. Throws usage with the names there are.
const Control& control(std::string_view name);
inline constexpr std::int64_t kNever = 0;
/// The step at which a row must first differ; kNever: it must be equal.
std::int64_t first_affected_step(const Control& c, const Row& row);

}  // namespace lockstep::determinism
