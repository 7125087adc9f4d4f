// A handful of ops with plain kernels, so that apply() is tested without the op and kernel layers.
#pragma once

#include "lockstep/tensor/kernel.h"

namespace lockstep::test {

/// Installs the toy ops below. A repeated call installs the same ones.
void install_toys();
/// Names: "plus" (a, b, c?; elementwise f32), "double" (composite of plus), "row" (view of x's first row), "store"
/// (writes x: every element = the attribute), "low" and "wide" (autocast low and full; f32 only), "cast", "contiguous",
/// "dense".
const OpDef& toy(std::string_view name);
/// How often the kernel of "plus" ran, and the strides that its second input had.
extern int plus_calls;
extern Strides plus_strides;

}  // namespace lockstep::test
