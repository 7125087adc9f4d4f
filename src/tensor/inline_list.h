// A list of at most N values on the stack; only what is pushed is constructed. For trivially destructible values.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace lockstep {

template <class T, std::size_t N>
class InlineList {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  InlineList() {}  // the bytes stay uninitialised
  InlineList(const InlineList&) = delete;
  InlineList& operator=(const InlineList&) = delete;
  /// Made in place from its members: these are long values, and a temporary would be one more copy of each.
  template <class... Args>
  T& emplace(const Args&... members) { return *::new (static_cast<void*>(at(n_++))) T{members...}; }
  T& operator[](std::size_t i) { return *at(i); }
  [[nodiscard]] std::size_t size() const { return n_; }
  [[nodiscard]] std::span<const T> view() const { return {reinterpret_cast<const T*>(bytes_), n_}; }

 private:
  T* at(std::size_t i) { return reinterpret_cast<T*>(bytes_) + i; }

  alignas(T) std::byte bytes_[N * sizeof(T)];
  std::size_t n_ = 0;
};

}  // namespace lockstep
