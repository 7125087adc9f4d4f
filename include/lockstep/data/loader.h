// Loader: batches by index. Workers write samples straight into the slots of a batch; order never depends on them.
#pragma once

#include <memory>

#include "lockstep/data/transform.h"

namespace lockstep {

/// `data.loader`. workers, prefetch and eval_batch_size never change bits.
struct LoaderConfig {
  std::int64_t batch_size = 32;
  std::int64_t eval_batch_size = 256;
  bool shuffle = true;
  bool drop_last = false;
  std::int64_t workers = 0;                  // 0: the caller's thread prepares each batch
  std::int64_t prefetch = 2;                 // batches ready ahead, per run of the loader
};

/// Which batches a pass delivers.
enum class Pass : std::uint8_t { training, evaluation };

class Loader {
 public:
  /// Keeps references to `data` and `transforms`. Training: batch n of epoch e is a keyed permutation's positions
  /// [n*B, (n+1)*B) (NUMERICS R3), endless over epochs. Evaluation: one pass in dataset order.
  /// Throws data: empty dataset; drop_last with fewer samples than a batch.
  Loader(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c, std::uint64_t seed, Pass pass);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Spec after the transforms.
  [[nodiscard]] const SampleSpec& spec() const;
  [[nodiscard]] std::int64_t size() const;              // samples
  [[nodiscard]] std::int64_t steps_per_epoch() const;   // batches
  /// The next next() delivers batch `step` (training: any global step; evaluation: [0, steps_per_epoch()]).
  void seek(std::int64_t step);
  /// Delivers the next batch; false when an evaluation pass is over. Errors of workers are thrown here, at their batch.
  /// The tensors of `out` are reused two deliveries later.
  bool next(Batch& out);
  /// Seconds next() has waited for workers since construction.
  [[nodiscard]] double wait_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
