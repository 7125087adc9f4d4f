// The two halves of the loader: what a batch is made of, and who makes it when.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "lockstep/data/loader.h"

namespace lockstep {

/// One batch of the ring. Rows are disjoint memory, so workers write them without locks.
struct BatchSlot {
  std::int64_t step = 0, epoch = 0, first = 0, rows = 0;   // first: position of row 0 within the epoch
  std::vector<std::byte*> base;                            // first row of each field
  std::vector<std::int64_t> samples;
  std::vector<Nh128> digests;                              // one a chunk
  std::vector<std::exception_ptr> errors;                  // one a chunk
  std::atomic<std::uint32_t> remaining{0};                 // chunks still to do
  Fields full, ragged;                                     // one storage; `ragged` is its first rows
};

/// Which samples batch n holds and how they are prepared: no threads, no order in time.
class BatchMaker {
 public:
  /// What one thread works with.
  struct Scratch {
    Sample sample;
    std::optional<Permutation> order;
    std::int64_t epoch = -1;
  };
  /// What a frame says of the sample being prepared.
  struct Place {
    const Dataset* data;
    std::int64_t sample, batch, epoch;
  };

  BatchMaker(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c,
             std::uint64_t seed, Pass pass);
  void allocate(BatchSlot& slot) const;
  void arm(BatchSlot& slot, std::int64_t step) const;
  /// Prepares rows [begin, end) and returns their share of the digest. `stop` ends it early (the batch is then useless).
  Nh128 fill(BatchSlot& slot, std::int64_t begin, std::int64_t end, Scratch& scratch, const std::atomic<bool>& stop) const;
  void deliver(const BatchSlot& slot, Batch& out) const;

  [[nodiscard]] const SampleSpec& spec() const { return stages_.back(); }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::int64_t batch_size() const { return batch_size_; }
  [[nodiscard]] std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  [[nodiscard]] std::span<const std::size_t> row_bytes() const { return row_bytes_; }

 private:
  [[nodiscard]] PhiloxKey key(std::size_t transform, std::int64_t epoch, std::int64_t sample) const;
  [[nodiscard]] Nh128 digest(const BatchSlot& slot, std::int64_t begin, std::int64_t end) const;
  void finish(const Sample& s, const BatchSlot& slot, std::size_t row) const;

  const Dataset& data_;
  std::span<const std::unique_ptr<Transform>> transforms_;
  std::int64_t samples_, batch_size_ = 1, steps_per_epoch_ = 1;
  bool shuffle_ = false;
  std::vector<SampleSpec> stages_;          // of the dataset, then after each transform
  std::vector<std::size_t> row_bytes_;      // per field of the last stage
  std::vector<std::uint64_t> row_words_;
  std::vector<PhiloxKey> keys_;             // per transform
  PhiloxKey shuffle_key_;
};

/// The ring and its workers. Work is counted in tickets: ticket k is chunk k % chunks of batch k / chunks.
struct Loader::Impl {
  Impl(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c,
       std::uint64_t seed, Pass p);
  ~Impl();
  bool next(Batch& out);
  void seek(std::int64_t step);

  BatchMaker maker;
  Pass pass;
  std::int64_t workers, prefetch;
  std::int64_t chunks = 1, chunk_rows = 1;
  std::int64_t position = 0;                // batch that next() delivers
  std::int64_t waited_ns = 0;

 private:
  void start();
  void run();
  void allow(std::int64_t end);
  bool claim(std::int64_t& ticket);
  void wait_for(BatchSlot& slot);
  static void rethrow(const BatchSlot& slot);
  BatchSlot& slot_of(std::int64_t batch) { return slots[static_cast<std::size_t>(batch) % slots.size()]; }

  std::vector<BatchSlot> slots;
  BatchMaker::Scratch scratch;              // of the caller's thread
  std::vector<std::thread> threads;
  std::mutex mutex;                         // guards the five below; the atomics change under it too
  std::condition_variable work, drained;
  std::int64_t armed = 0;                   // batches below this have a slot
  int busy = 0, sleeping = 0;
  bool draining = false;
  std::atomic<std::int64_t> claimed{0}, limit{0};   // tickets: taken; allowed to be taken
  std::atomic<bool> stop{false};
};

}  // namespace lockstep
