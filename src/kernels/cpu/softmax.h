// Plain data of the softmax family: one row, and one batch of classification rows.
#pragma once

#include <cstdint>

namespace lockstep {

/// softmax: y = e / d; log: y = (x - m) - log(d); with m the row's maximum, e = exp(x - m), d = the A4 sum of e.
enum class RowForm : std::uint8_t { softmax, log };

/// What cross_entropy and its derivative know of every row. Everything but the rows of x is one value for all rows.
template <class T>
struct ClassLoss {
  std::int64_t classes = 0;
  const T* weight = nullptr;      // per class; null: ones
  T weight_sum = 0;               // A4 sum of the weights (the number of classes without weights)
  T keep = 1, spread = 0;         // 1 - label_smoothing and label_smoothing / classes, each rounded once
  bool smooth = false;            // label_smoothing > 0
};

}  // namespace lockstep
