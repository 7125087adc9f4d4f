// Storage and the caching allocator: 64-byte aligned blocks, reused by size class, with peak statistics.
#pragma once

#include <atomic>

#include "lockstep/tensor/shape.h"

namespace lockstep {

/// Owns one block of memory. Freed blocks go back to the allocator's cache.
class Storage {
 public:
  /// Throws resource with the bytes asked for and in use.
  Storage(std::size_t bytes, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  void touch() { ++version_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
  Device device_;
};

struct MemoryStats {
  std::uint64_t in_use = 0, peak = 0, cached = 0, allocations = 0, cache_hits = 0;   // bytes, bytes, bytes, calls, calls
};
MemoryStats memory_stats();
void reset_peak_memory();
/// Returns cached blocks to the system.
void trim_memory();

}  // namespace lockstep
