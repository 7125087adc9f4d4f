// Recycled: an allocator of single objects that keeps a thread's freed blocks for its next allocation.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace lockstep {

/// For std::allocate_shared of the small objects that every apply() makes and drops: handles, storages, history nodes.
/// The C library keeps only seven free blocks a size without a slow path; a step frees dozens at once.
template <class T>
class Recycled {
 public:
  using value_type = T;
  Recycled() = default;
  template <class U>
  Recycled(const Recycled<U>&) {}
  template <class U>
  bool operator==(const Recycled<U>&) const { return true; }

  T* allocate(std::size_t n) {
    Cache& c = cache;
    if (n == 1 && c.count > 0) return static_cast<T*>(c.block[--c.count]);
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept {
    Cache& c = cache;
    if (n != 1 || c.closed || c.count == kKept) return ::operator delete(p);
    if (!c.watched) watch();
    c.block[c.count++] = p;
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t kKept = 0;   // so that use after free is seen
#else
  static constexpr std::size_t kKept = 128;
#endif
  /// Trivially destructible: objects may die after the thread's other variables.
  struct Cache {
    std::array<void*, kKept + 1> block;
    std::size_t count;
    bool closed, watched;
  };
  struct Sweep {
    ~Sweep() {
      cache.closed = true;
      while (cache.count > 0) ::operator delete(cache.block[--cache.count]);
    }
  };
  static void watch() {
    cache.watched = true;
    static thread_local Sweep sweep;
    static_cast<void>(sweep);
  }
  static inline constinit thread_local Cache cache{};
};

}  // namespace lockstep
