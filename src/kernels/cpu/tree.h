// The scalar parts of the summation order A4: lane fold, chunk tree, a plain reference of the whole; maximum.
#pragma once

#include <cstdint>

namespace lockstep {

inline constexpr int kSumLanes = 16;
inline constexpr std::int64_t kSumChunk = 4096;

/// The 16 lanes folded 8-4-2-1; overwrites them.
template <class T>
[[gnu::always_inline]] inline T fold_lanes(T* lane) {
  for (int l = 0; l < 8; ++l) lane[l] += lane[l + 8];
  for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
  for (int l = 0; l < 2; ++l) lane[l] += lane[l + 2];
  return lane[0] + lane[1];
}

/// Combines chunk results by a pairwise tree on the chunk index: adjacent pairs, an odd last one carried up.
/// Takes them one by one: like a binary counter it holds at most one finished subtree of each size.
/// Call clear() first: a constructor would be a function that vector regions share with the baseline.
template <class T>
struct SumTree {
  T part[64];
  std::uint64_t count;

  [[gnu::always_inline]] void clear() { count = 0; }
  [[gnu::always_inline]] void push(T chunk) {
    int level = 0;
    for (; ((count >> level) & 1U) != 0; ++level) chunk = part[level] + chunk;
    part[level] = chunk;
    ++count;
  }
  /// The sum of all chunks; +0 without any.
  [[gnu::always_inline]] T total() const {
    T sum{0};
    bool any = false;
    for (int level = 0; level < 64 && (count >> level) != 0; ++level) {
      if (((count >> level) & 1U) == 0) continue;
      sum = any ? part[level] + sum : part[level];
      any = true;
    }
    return sum;
  }
};

/// Maximum with NaN winning (as the quiet NaN) and +0 above -0.
template <class T>
[[gnu::always_inline]] inline T larger_of(T a, T b) {
  if (a != a || b != b) return static_cast<T>(__builtin_nan(""));
  if (a == b) return __builtin_signbit(a) ? b : a;
  return a > b ? a : b;
}

namespace scalar {

/// The order of A4 as plain loops. `at(i)` gives element i.
template <class T, class At>
T sum_in_order(std::int64_t n, At at) {
  SumTree<T> tree;
  tree.clear();
  for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
    T lane[kSumLanes] = {};
    const std::int64_t end = n - begin < kSumChunk ? n : begin + kSumChunk;
    for (std::int64_t i = begin; i < end; ++i) lane[i % kSumLanes] += at(i);
    tree.push(fold_lanes(lane));
  }
  return tree.total();
}

}  // namespace scalar
}  // namespace lockstep
