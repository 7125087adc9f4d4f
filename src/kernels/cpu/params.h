// What the vector and the plain loops of a family are both handed: hyper-parameters, rounded once where used.
#pragma once

#include <cstdint>

namespace lockstep {

/// Dropout: Philox key and counter words, the bound, and 1 / (1 - p).
struct DropoutParams {
  std::uint32_t key_lo, key_hi, step, shard, draw;
  float p;
  double scale;
};

/// SGD. `first`: the buffer starts as the gradient. `momentum` 0: there is no buffer.
struct SgdParams {
  double lr, momentum, undamped, weight_decay;   // undamped = 1 - dampening
  bool nesterov, first;
};

/// AdamW, with everything that depends on the update number alone.
struct AdamwParams {
  double keep;             // 1 - lr * weight_decay
  double new1;             // 1 - beta1
  double beta2, new2;      // and 1 - beta2
  double root_scale;       // 1 / sqrt(1 - beta2^t)
  double eps;
  double step;             // lr / (1 - beta1^t)
};

/// buffer = old * buffer + fresh * statistic
struct LerpParams {
  double old, fresh;
};

}  // namespace lockstep
