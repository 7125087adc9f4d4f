// The caching allocator: size classes in quarter powers of two, a small cache per thread, the rest behind one mutex.
#include "lockstep/tensor/storage.h"

#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kClasses = 256;
constexpr std::size_t kLocalBlocks = 16;                   // blocks of one class that a thread keeps
constexpr std::size_t kLocalBytes = std::size_t{1} << 16;  // larger blocks are always shared

/// Class 0 is 64 bytes; each doubling has four classes.
struct SizeClass {
  std::size_t index, bytes;
};
SizeClass class_of(std::size_t bytes) {
  if (bytes <= 4 * kAlign) {
    const std::size_t units = std::max<std::size_t>(1, (bytes + kAlign - 1) / kAlign);
    return {units - 1, units * kAlign};
  }
  const auto log = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^log < bytes <= 2^(log + 1)
  const std::size_t step = std::size_t{1} << (log - 2);
  const std::size_t quarter = (bytes - 1 - (std::size_t{1} << log)) / step;  // 0..3
  return {4 * (log - 7) + quarter, (std::size_t{1} << log) + (quarter + 1) * step};
}

struct Shared {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses> free;
  std::atomic<std::uint64_t> in_use{0}, peak{0}, allocations{0};
  std::atomic<std::uint64_t> held{0}, misses{0};   // bytes taken from the system; allocations that the cache did not serve
};
/// Never destroyed: static tensors may be freed after every other static.
Shared& shared() {
  static auto* s = new Shared;
  return *s;
}

struct Local {
  std::array<std::array<void*, kLocalBlocks>, 48> block{};
  std::array<std::uint8_t, 48> count{};
  Local() = default;
  ~Local();
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
};
constinit thread_local bool local_dead = false;
thread_local Local local;

Local* local_cache() { return local_dead ? nullptr : &local; }

void give_back(Local& l) {
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  for (std::size_t c = 0; c < l.count.size(); ++c)
    while (l.count[c] > 0) s.free[c].push_back(l.block[c][--l.count[c]]);
}
Local::~Local() {
  give_back(*this);
  local_dead = true;
}

void* take(const SizeClass& c) {
  if (c.bytes <= kLocalBytes) {
    Local* l = local_cache();
    if (l != nullptr && l->count[c.index] > 0) return l->block[c.index][--l->count[c.index]];
  }
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  auto& list = s.free[c.index];
  if (list.empty()) return nullptr;
  void* p = list.back();
  list.pop_back();
  return p;
}

void put(void* p, const SizeClass& c) {
  if (c.bytes <= kLocalBytes) {
    Local* l = local_cache();
    if (l != nullptr && l->count[c.index] < kLocalBlocks) {
      l->block[c.index][l->count[c.index]++] = p;
      return;
    }
  }
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  s.free[c.index].push_back(p);
}

void count_in(std::size_t bytes, bool hit) {
  Shared& s = shared();
  const std::uint64_t now = s.in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t peak = s.peak.load(std::memory_order_relaxed);
  while (now > peak && !s.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  s.allocations.fetch_add(1, std::memory_order_relaxed);
  if (!hit) {
    s.misses.fetch_add(1, std::memory_order_relaxed);
    s.held.fetch_add(bytes, std::memory_order_relaxed);
  }
}

}  // namespace

Storage::Storage(std::size_t bytes, Device device) : bytes_(bytes), device_(device) {
  if (device != Device::cpu)
    fail(Category::resource, fmt::format("cannot allocate {} bytes on device '{}': this build has memory on cpu only",
                                         bytes, text(device)));
  constexpr std::size_t kMost = std::size_t{1} << 46;
  const std::size_t wanted = std::min(bytes, kMost);
  const SizeClass c = class_of(wanted);
  data_ = take(c);
  const bool hit = data_ != nullptr;
  if (!hit && bytes <= kMost) data_ = std::aligned_alloc(kAlign, c.bytes);
  if (data_ == nullptr && bytes <= kMost) {
    trim_memory();
    data_ = std::aligned_alloc(kAlign, c.bytes);
  }
  if (data_ == nullptr)
    fail(Category::resource,
         fmt::format("out of memory: {} bytes asked for, {} bytes in use by tensors; use a smaller batch or model",
                     bytes, shared().in_use.load()));
  count_in(c.bytes, hit);
}

Storage::~Storage() {
  const SizeClass c = class_of(bytes_);
  Shared& s = shared();
  s.in_use.fetch_sub(c.bytes, std::memory_order_relaxed);
  put(data_, c);
}

MemoryStats memory_stats() {
  const Shared& s = shared();
  const std::uint64_t in_use = s.in_use.load(), held = s.held.load(), all = s.allocations.load(), misses = s.misses.load();
  return {in_use, s.peak.load(), held > in_use ? held - in_use : 0, all, all > misses ? all - misses : 0};
}

void reset_peak_memory() { shared().peak.store(shared().in_use.load()); }

void trim_memory() {
  if (Local* l = local_cache()) give_back(*l);
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  for (std::size_t i = 0; i < kClasses; ++i) {
    const std::size_t bytes = i < 4 ? (i + 1) * kAlign : ((4 + i % 4 + 1) << (i / 4 + 5));
    s.held.fetch_sub(bytes * s.free[i].size(), std::memory_order_relaxed);
    for (void* p : s.free[i]) std::free(p);
    s.free[i].clear();
  }
}

}  // namespace lockstep
