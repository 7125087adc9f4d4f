// Installing the ops and kernels that this program was linked with.
#pragma once

#include "lockstep/tensor/kernel.h"

namespace lockstep {

/// Call first in main and in test fixtures; the second and later calls do nothing. Throws internal as install_ops.
inline void install_builtin_ops() {
  static const bool once = (install_ops(builtin_op_families(), builtin_kernel_families()), true);
  static_cast<void>(once);
}

}  // namespace lockstep
