// The installed ops and their kernels, as apply() looks them up.
#pragma once

#include "lockstep/tensor/kernel.h"

namespace lockstep {

inline constexpr std::size_t kDTypes = 9;
inline constexpr std::size_t kMaxInputs = 8;

struct OpRow {
  const OpDef* op = nullptr;
  std::array<std::array<const KernelDef*, kDTypes>, 2> kernels{};  // [cpu, cuda][dtype]
  bool has_kernel = false;
};

/// Constant time, no lock. Throws internal when `op` was not installed.
const OpRow& row_of(const OpDef& op);

}  // namespace lockstep
