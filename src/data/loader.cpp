// Loader: a ring of batches, filled in place by whoever claims a chunk of rows, delivered strictly by index.
#include "lockstep/data/loader.h"

#include <system_error>

#include "data/loader_impl.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/copy.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/tensor/storage.h"

namespace lockstep {
namespace {

constexpr int kSpins = 2000;                       // about 20 to 40 microseconds of waiting before sleeping
constexpr std::size_t kChunkBytes = std::size_t{16} << 10;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::string where_in_batch(const void* context) {
  const auto& at = *static_cast<const BatchMaker::Place*>(context);
  return fmt::format("while preparing sample {} ({}) of batch {}, epoch {}", at.sample, at.data->where(at.sample), at.batch,
                     at.epoch);
}

}  // namespace

BatchMaker::BatchMaker(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c,
                       std::uint64_t seed, Pass pass)
    : data_(data), transforms_(transforms), samples_(data.size()) {
  batch_size_ = pass == Pass::training ? c.batch_size : c.eval_batch_size;
  const bool drop_last = pass == Pass::training && c.drop_last;
  shuffle_ = pass == Pass::training && c.shuffle;
  if (batch_size_ < 1) failf(Category::usage, "a batch size of {}: it must be at least 1", batch_size_);
  if (samples_ < 1) fail(Category::data, "the dataset has no samples, so there is nothing to load");
  if (drop_last && samples_ < batch_size_) {
    failf(Category::data,
          "the dataset has {} samples and batch_size is {}: with drop_last an epoch has no batch at all. Use a smaller "
          "batch_size, or drop_last: false",
          samples_, batch_size_);
  }
  steps_per_epoch_ = drop_last ? samples_ / batch_size_ : (samples_ + batch_size_ - 1) / batch_size_;
  stages_.push_back(data.spec());
  for (std::size_t t = 0; t < transforms.size(); ++t) {
    stages_.push_back(transforms[t]->spec(stages_.back()));
    keys_.push_back(rng_key(seed, "transform", std::to_string(t)));
  }
  shuffle_key_ = rng_key(seed, "shuffle", "");
  for (const FieldSpec& f : spec().fields) {
    row_bytes_.push_back(static_cast<std::size_t>(f.shape.numel()) * size_of(f.dtype));
    row_words_.push_back(nh128_extent(row_bytes_.back()));
  }
}

void BatchMaker::allocate(BatchSlot& slot) const {
  const std::int64_t rows = std::min(batch_size_, samples_), rest = samples_ % batch_size_;
  for (std::size_t f = 0; f < spec().fields.size(); ++f) {
    Shape s{rows};
    for (const std::int64_t d : spec().fields[f].shape) s.push_back(d);
    Tensor t = Tensor::empty(s, spec().fields[f].dtype);
    slot.base.push_back(static_cast<std::byte*>(t.raw()));
    slot.full.set(spec().fields[f].name, std::move(t));
  }
  slot.samples.resize(static_cast<std::size_t>(rows));
  if (rest != 0) slot.ragged = slot.full.rows(0, rest);
}

void BatchMaker::arm(BatchSlot& slot, std::int64_t step) const {
  slot.step = step;
  slot.epoch = step / steps_per_epoch_;
  slot.first = step % steps_per_epoch_ * batch_size_;
  slot.rows = std::min(batch_size_, samples_ - slot.first);
  for (const auto& [name, tensor] : slot.full.list()) tensor.storage()->touch();
}

// The digest of a batch is a sum over records, one a field and row, each placed where a function of the batch's shape
// alone puts it (base/nh128.h says what a record at a word position contributes):
//   e_f = nh128_extent(bytes of one row of field f)
//   record (f, r) starts at word  rows * (e_0 + ... + e_{f-1}) + r * e_f
// so any split of the rows over workers gives the same sum.
Nh128 BatchMaker::digest(const BatchSlot& slot, std::int64_t begin, std::int64_t end) const {
  Nh128 sum;
  std::uint64_t field_at = 0;
  for (std::size_t f = 0; f < row_bytes_.size(); ++f) {
    const std::size_t bytes = row_bytes_[f];
    const std::uint64_t words = row_words_[f];
    const std::byte* row = slot.base[f] + static_cast<std::size_t>(begin) * bytes;
    const std::uint64_t at = field_at + static_cast<std::uint64_t>(begin) * words;
    const auto count = static_cast<std::size_t>(end - begin);
    if (bytes % 8 == 0) {
      sum += nh128({row, count * bytes}, at);          // records without padding: neighbours are one run
    } else {
      for (std::size_t r = 0; r < count; ++r) sum += nh128({row + r * bytes, bytes}, at + r * words);
    }
    field_at += static_cast<std::uint64_t>(slot.rows) * words;
  }
  return sum;
}

void BatchMaker::finish(const Sample& s, const BatchSlot& slot, std::size_t row) const {
  for (std::size_t f = 0; f < row_bytes_.size(); ++f) {
    const Sample::Value& v = s.values[f];
    const FieldSpec& want = spec().fields[f];
    if (v.dtype != want.dtype || v.shape != want.shape) {
      failf(Category::internal, "field '{}' of a sample is {} {}, and the spec after the transforms says {} {}", want.name,
            text(v.dtype), text(v.shape), text(want.dtype), text(want.shape));
    }
    std::byte* to = slot.base[f] + row * row_bytes_[f];
    if (v.data != to) copy_bytes(to, v.data, row_bytes_[f]);
  }
}

Nh128 BatchMaker::fill(BatchSlot& slot, std::int64_t begin, std::int64_t end, Scratch& scratch,
                       const std::atomic<bool>& stop) const {
  if (shuffle_ && (!scratch.order || scratch.epoch != slot.epoch)) {
    scratch.order.emplace(shuffle_key_, static_cast<std::uint32_t>(slot.epoch), static_cast<std::uint64_t>(samples_));
    scratch.epoch = slot.epoch;
  }
  Place place{&data_, 0, slot.step, slot.epoch};
  const Frame frame(where_in_batch, &place);
  Sample& s = scratch.sample;
  try {
    // Shuffled samples lie anywhere in memory: the caches are asked for some rows ahead of the one that is waited for.
    constexpr std::int64_t kAhead = 16;
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t position = slot.first + r;
      const std::int64_t index =
          shuffle_ ? static_cast<std::int64_t>((*scratch.order)(static_cast<std::uint64_t>(position))) : position;
      slot.samples[static_cast<std::size_t>(r)] = index;
      if (r < begin + kAhead) data_.prefetch(index);
    }
    for (std::int64_t r = begin; r < end && !stop.load(std::memory_order_relaxed); ++r) {
      const auto row = static_cast<std::size_t>(r);
      const std::int64_t index = place.sample = s.index = slot.samples[row];
      if (r + kAhead < end) data_.prefetch(slot.samples[row + kAhead]);
      for (std::size_t f = 0; f < row_bytes_.size(); ++f) s.bind(f, slot.base[f] + row * row_bytes_[f], row_bytes_[f]);
      s.start(stages_.front());
      data_.get(index, s);
      for (std::size_t t = 0; t < keys_.size(); ++t) {
        s.spec = &stages_[t];
        transforms_[t]->apply(s, key(t, slot.epoch, index));
      }
      finish(s, slot, row);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    fail(Category::internal, e.what());
  }
  return digest(slot, begin, end);
}

void BatchMaker::deliver(const BatchSlot& slot, Batch& out) const {
  out.step = slot.step;
  out.epoch = slot.epoch;
  out.samples.assign(slot.samples.begin(), slot.samples.begin() + static_cast<std::ptrdiff_t>(slot.rows));
  out.fields = slot.rows == std::min(batch_size_, samples_) ? slot.full : slot.ragged;
  out.digest = {};
  for (const Nh128& d : slot.digests) out.digest += d;
}

PhiloxKey BatchMaker::key(std::size_t transform, std::int64_t epoch, std::int64_t sample) const {
  const auto u = static_cast<std::uint64_t>(sample);
  const PhiloxBlock b = philox(keys_[transform], {static_cast<std::uint32_t>(u >> 32), static_cast<std::uint32_t>(epoch),
                                                  static_cast<std::uint32_t>(u), 0});
  return {b[0], b[1]};
}

Loader::Impl::Impl(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c,
                   std::uint64_t seed, Pass p)
    : maker(data, transforms, c, seed, p), pass(p), workers(c.workers), prefetch(c.prefetch) {
  if (workers < 0 || prefetch < 0) {
    failf(Category::usage, "workers {} and prefetch {}: neither may be negative", workers, prefetch);
  }
  std::size_t row = 0;
  for (const std::size_t bytes : maker.row_bytes()) row += bytes;
  const std::int64_t rows = maker.batch_size();
  if (workers > 0) {
    const auto worth = static_cast<std::int64_t>(row * static_cast<std::size_t>(rows) / kChunkBytes);
    chunks = std::clamp<std::int64_t>(std::min(worth, workers), 1, rows);
  }
  chunk_rows = (rows + chunks - 1) / chunks;
  // Two batches in the hands of the caller, the rest ahead of it.
  slots = std::vector<BatchSlot>(static_cast<std::size_t>(workers > 0 ? prefetch + 2 : 2));
  for (BatchSlot& slot : slots) {
    maker.allocate(slot);
    slot.digests.resize(static_cast<std::size_t>(chunks));
    slot.errors.resize(static_cast<std::size_t>(chunks));
  }
}

Loader::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex);
    stop.store(true, std::memory_order_relaxed);
    work.notify_all();
  }
  for (std::thread& t : threads) t.join();
}

void Loader::Impl::start() {
  for (std::int64_t i = 0; i < workers; ++i) {
    try {
      threads.emplace_back([this] {
        set_float_environment();
        run();
      });
    } catch (const std::system_error& e) {
      failf(Category::resource, "loader worker {} of {} could not be started: {}. Use fewer data.loader.workers", i + 1,
            workers, e.what());
    }
  }
}

// Raises the limit of what may be claimed. The slot of batch n served n - size: it was delivered two calls ago.
void Loader::Impl::allow(std::int64_t end) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex);
    for (; armed < end; ++armed) {
      BatchSlot& slot = slot_of(armed);
      maker.arm(slot, armed);
      for (std::exception_ptr& e : slot.errors) e = nullptr;
      slot.remaining.store(static_cast<std::uint32_t>(chunks), std::memory_order_relaxed);
    }
    limit.store(armed * chunks, std::memory_order_relaxed);
    wake = sleeping > 0;
  }
  if (wake) work.notify_all();
}

bool Loader::Impl::claim(std::int64_t& ticket) {
  const auto idle = [&] {
    return !stop.load(std::memory_order_relaxed) &&
           claimed.load(std::memory_order_relaxed) >= limit.load(std::memory_order_relaxed);
  };
  for (int i = 0; i < kSpins && idle(); ++i) pause();
  std::unique_lock lock(mutex);
  ++sleeping;
  work.wait(lock, [&] { return !idle(); });
  --sleeping;
  if (stop.load(std::memory_order_relaxed)) return false;
  ticket = claimed.load(std::memory_order_relaxed);
  claimed.store(ticket + 1, std::memory_order_relaxed);
  ++busy;
  return true;
}

void Loader::Impl::run() {
  BatchMaker::Scratch mine;
  for (std::int64_t ticket = 0; claim(ticket);) {
    BatchSlot& slot = slot_of(ticket / chunks);
    const std::int64_t chunk = ticket % chunks;
    const std::int64_t begin = std::min(slot.rows, chunk * chunk_rows), end = std::min(slot.rows, begin + chunk_rows);
    const auto at = static_cast<std::size_t>(chunk);
    try {
      slot.digests[at] = maker.fill(slot, begin, end, mine, stop);
    } catch (...) {
      slot.errors[at] = std::current_exception();
    }
    if (slot.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) slot.remaining.notify_one();
    const std::lock_guard lock(mutex);
    if (--busy == 0 && draining) drained.notify_all();
  }
}

// Waits until every chunk of the batch is done.
void Loader::Impl::wait_for(BatchSlot& slot) {
  if (slot.remaining.load(std::memory_order_acquire) == 0) return;
  const std::int64_t start_ns = monotonic_ns();
  for (int i = 0; i < kSpins && slot.remaining.load(std::memory_order_acquire) != 0; ++i) pause();
  for (std::uint32_t left = slot.remaining.load(std::memory_order_acquire); left != 0;
       left = slot.remaining.load(std::memory_order_acquire)) {
    slot.remaining.wait(left, std::memory_order_acquire);
  }
  waited_ns += monotonic_ns() - start_ns;
}

// Rethrows the error of the lowest row, with the caller's frames below the worker's.
void Loader::Impl::rethrow(const BatchSlot& slot) {
  for (const std::exception_ptr& e : slot.errors) {
    if (e == nullptr) continue;
    try {
      std::rethrow_exception(e);
    } catch (const Error& error) {
      Error copy = error;
      for (const Frame* f = Frame::top(); f != nullptr; f = f->below()) copy.frames.push_back(f->text());
      throw copy;
    }
  }
}

void Loader::Impl::seek(std::int64_t step) {
  std::unique_lock lock(mutex);
  limit.store(claimed.load(std::memory_order_relaxed), std::memory_order_relaxed);
  draining = true;
  drained.wait(lock, [&] { return busy == 0; });
  draining = false;
  armed = position = step;
  claimed.store(step * chunks, std::memory_order_relaxed);
  limit.store(step * chunks, std::memory_order_relaxed);
}

bool Loader::Impl::next(Batch& out) {
  const std::int64_t last = pass == Pass::evaluation ? maker.steps_per_epoch() : std::numeric_limits<std::int64_t>::max();
  if (position >= last) return false;
  BatchSlot& slot = slot_of(position);
  if (workers == 0) {
    maker.arm(slot, position);
    slot.digests[0] = maker.fill(slot, 0, slot.rows, scratch, stop);
  } else {
    if (threads.empty()) start();
    allow(position + 1 + std::min(prefetch, last - position - 1));
    wait_for(slot);
    rethrow(slot);
  }
  maker.deliver(slot, out);
  ++position;
  return true;
}

Loader::Loader(const Dataset& data, std::span<const std::unique_ptr<Transform>> transforms, const LoaderConfig& c,
               std::uint64_t seed, Pass pass)
    : impl_(std::make_unique<Impl>(data, transforms, c, seed, pass)) {}
Loader::~Loader() = default;
const SampleSpec& Loader::spec() const { return impl_->maker.spec(); }
std::int64_t Loader::size() const { return impl_->maker.samples(); }
std::int64_t Loader::steps_per_epoch() const { return impl_->maker.steps_per_epoch(); }
bool Loader::next(Batch& out) { return impl_->next(out); }
double Loader::wait_seconds() const { return static_cast<double>(impl_->waited_ns) * 1e-9; }

void Loader::seek(std::int64_t step) {
  const bool beyond = impl_->pass == Pass::evaluation && step > steps_per_epoch();
  if (step < 0 || beyond) {
    failf(Category::internal, "seek to batch {} of a pass of {} batches", step, beyond ? text(steps_per_epoch()) : "endless");
  }
  impl_->seek(step);
}

}  // namespace lockstep
