// Register tiles of matrix products: one tile of C over one chunk of k, in the order of A3.
// No guard: gemm-inl.h is included once for each instruction set, and includes the other two in turn.
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/lanes-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// Columns of a tile: two registers. Rows: what leaves registers for one row of B and a broadcast.
template <class T>
constexpr int kTileColumns = static_cast<int>(2 * HWY_MAX_BYTES / sizeof(T));
/// Double is for checks: six rows there, too, which halves what is compiled.
template <class T>
constexpr int kTileRows = HWY_TARGET == HWY_AVX2 || sizeof(T) == 8 ? 6 : 12;

/// How many k ahead of their use rows of B are asked for: they come from the second cache or beyond.
constexpr std::int64_t kAhead = 16;

/// One tile over one chunk of k: C = C + chain, or +0 + chain on the first chunk, plus bias on the last.
template <class T>
struct Tile {
  const T* a;              // first element of the chunk in the tile's first row
  std::int64_t a_step;     // kUnit: from row to row (k is contiguous); else from k to k (rows are contiguous)
  const T* b;              // kTileColumns consecutive elements for each k
  std::int64_t b_step;     // from k to k
  std::int64_t k;
  T* c;
  std::int64_t c_row, c_col;
  std::int64_t columns;    // how many of the tile's columns exist
  const T* bias;           // of this tile; null: none
  bool bias_by_row, first;
};

/// Stores a tile whose columns are strided in C.
template <class T, int kRows>
HWY_NOINLINE void store_strided(const Tile<T>& t, const T* HWY_RESTRICT chain) {
  for (std::int64_t j = 0; j < t.columns; ++j) {
    for (int r = 0; r < kRows; ++r) {
      T* c = t.c + r * t.c_row + j * t.c_col;
      T sum = (t.first ? T{0} : *c) + chain[r * kTileColumns<T> + j];
      if (t.bias != nullptr) sum += t.bias[t.bias_by_row ? r : j];
      *c = sum;
    }
  }
}

template <class T, int kRows, bool kUnit>
HWY_NOINLINE void tile(const Tile<T>& t) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kWidth = kTileColumns<T> / 2;
  V left[kRows], right[kRows];
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(d);

  const T* HWY_RESTRICT a = t.a;
  const T* HWY_RESTRICT b = t.b;
  const std::int64_t a_step = t.a_step, b_step = t.b_step;
  const std::int64_t ahead = kAhead * b_step;
  if (t.c_col == 1 && t.k > 64) {   // C is read last; short tiles would wait for the request itself
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) __builtin_prefetch(t.c + r * t.c_row);
  }
  // Not unrolled: twelve FMAs hide the loop, and g++ spills accumulators when it sees several steps at once.
  HWY_UNROLL(1)
  for (std::int64_t rest = t.k; rest > 0; --rest) {
    __builtin_prefetch(b + ahead);
    if constexpr (kTileColumns<T> * sizeof(T) > 64) __builtin_prefetch(b + ahead + kWidth);
    const V b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + kWidth);
    b += b_step;
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      const V x = hn::Set(d, kUnit ? a[r * a_step] : a[r]);
      left[r] = fma(x, b0, left[r]);
      right[r] = fma(x, b1, right[r]);
    }
    a += kUnit ? 1 : a_step;
  }

  if (t.c_col != 1 || (t.bias != nullptr && t.bias_by_row)) {
    alignas(64) T chain[kRows * kTileColumns<T>];
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      hn::Store(left[r], d, chain + r * kTileColumns<T>);
      hn::Store(right[r], d, chain + r * kTileColumns<T> + kWidth);
    }
    store_strided<T, kRows>(t, chain);
    return;
  }
  // Copies, since a store to C might otherwise change the tile's description.
  T* HWY_RESTRICT c = t.c;
  const T* HWY_RESTRICT bias = t.bias;
  const std::int64_t c_row = t.c_row;
  const bool first = t.first;
  const V zero = hn::Zero(d);
  if (t.columns < kTileColumns<T>) {
    const auto some = hn::FirstN(d, static_cast<std::size_t>(t.columns));
    const auto more = hn::FirstN(d, static_cast<std::size_t>(t.columns > kWidth ? t.columns - kWidth : 0));
    const V bias_left = bias == nullptr ? zero : hn::MaskedLoad(some, d, bias);
    const V bias_right = bias == nullptr ? zero : hn::MaskedLoad(more, d, bias + kWidth);
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      V x = hn::Add(first ? zero : hn::MaskedLoad(some, d, c), left[r]);
      V y = hn::Add(first ? zero : hn::MaskedLoad(more, d, c + kWidth), right[r]);
      if (bias != nullptr) {
        x = hn::Add(x, bias_left);
        y = hn::Add(y, bias_right);
      }
      hn::BlendedStore(x, some, d, c);
      hn::BlendedStore(y, more, d, c + kWidth);
      c += c_row;
    }
    return;
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    V x = hn::Add(first ? zero : hn::LoadU(d, c), left[r]);
    V y = hn::Add(first ? zero : hn::LoadU(d, c + kWidth), right[r]);
    if (bias != nullptr) {
      x = hn::Add(x, hn::LoadU(d, bias));
      y = hn::Add(y, hn::LoadU(d, bias + kWidth));
    }
    hn::StoreU(x, d, c);
    hn::StoreU(y, d, c + kWidth);
    c += c_row;
  }
}

template <class T>
using TileFn = void (*)(const Tile<T>&);

/// The tile function for `rows` in [1, kTileRows<T>].
template <class T, bool kUnit, int kRows = kTileRows<T>>
HWY_INLINE TileFn<T> tile_of(std::int64_t rows) {
  if constexpr (kRows == 1) {
    return &tile<T, 1, kUnit>;
  } else {
    return rows == kRows ? &tile<T, kRows, kUnit> : tile_of<T, kUnit, kRows - 1>(rows);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !HWY_ONCE
