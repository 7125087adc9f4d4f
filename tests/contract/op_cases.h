// Inputs for the table-driven op tests, made from the samples that stand beside each op.
#pragma once

#include <string>
#include <vector>

#include "lockstep/tensor/op.h"

namespace lockstep::test {

/// plain: row-major. strided: reversed memory order, every second element, behind an offset.
enum class Layout { plain, strided };

/// Values of one sample as tensors. `floats`: f64 turns every float32 input (not attribute) into float64.
Tensors inputs_of(const OpSample& s, DType floats = DType::f32, Layout layout = Layout::plain);
/// The same for a case that must be refused.
Tensors inputs_of(const BadSample& s);
/// The same values in another layout.
Tensors relaid(std::span<const Tensor> in, Layout layout);
/// Shapes and dtypes only.
Tensors metas_of(std::span<const Tensor> in);

/// "linear sample 3 ([3, 4] float32, [5, 4] float32, -)": for messages.
std::string case_text(const OpDef& op, std::size_t sample, std::span<const Tensor> in);
/// Raw bytes of every tensor, row-major: what bit tests compare.
std::string bytes_of(std::span<const Tensor> t);
/// Empty, or the first element where the two differ by more than `tolerance * (1 + |expected|)`.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance);

/// Calls `f(op, number, sample)` for every sample of every op.
template <class F>
void for_each_sample(F&& f) {
  for (const auto family : builtin_op_families())
    for (const OpDef& op : family) {
      if (op.samples == nullptr) continue;
      std::size_t i = 0;
      for (const OpSample& s : op.samples()) f(op, i++, s);
    }
}

}  // namespace lockstep::test
