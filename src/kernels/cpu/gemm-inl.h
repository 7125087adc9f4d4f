// The one core of every matrix product: register tiles over packed or direct operands, in the order of A3.
#if defined(LOCKSTEP_GEMM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_GEMM_INL_H
#undef LOCKSTEP_GEMM_INL_H
#else
#define LOCKSTEP_GEMM_INL_H
#endif

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/lanes-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// Columns of a tile: two registers. Rows: what leaves registers for one row of B and a broadcast.
template <class T>
constexpr int kTileColumns = static_cast<int>(2 * HWY_MAX_BYTES / sizeof(T));
constexpr int kTileRows = HWY_TARGET == HWY_AVX2 ? 6 : 12;

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
  // Not unrolled: twelve FMAs hide the loop, and g++ spills accumulators when it sees several steps at once.
  HWY_UNROLL(1)
  for (std::int64_t rest = t.k; rest > 0; --rest) {
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

/// The tile function for `rows` in [1, kTileRows].
template <class T, bool kUnit, int kRows = kTileRows>
HWY_INLINE TileFn<T> tile_of(std::int64_t rows) {
  if constexpr (kRows == 1) {
    return &tile<T, 1, kUnit>;
  } else {
    return rows == kRows ? &tile<T, kRows, kUnit> : tile_of<T, kUnit, kRows - 1>(rows);
  }
}

/// Four columns of four consecutive k, turned: to[q * to_step + j] = from[j * from_step + q].
HWY_INLINE void turn_4x4(const float* HWY_RESTRICT from, std::int64_t from_step, float* HWY_RESTRICT to, std::int64_t to_step) {
  const hn::FixedTag<float, 4> d;
  const auto x0 = hn::LoadU(d, from), x1 = hn::LoadU(d, from + from_step);
  const auto x2 = hn::LoadU(d, from + 2 * from_step), x3 = hn::LoadU(d, from + 3 * from_step);
  const auto low01 = hn::InterleaveLower(d, x0, x1), high01 = hn::InterleaveUpper(d, x0, x1);
  const auto low23 = hn::InterleaveLower(d, x2, x3), high23 = hn::InterleaveUpper(d, x2, x3);
  hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
  hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + to_step);
  hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * to_step);
  hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * to_step);
}
HWY_INLINE void turn_4x4(const double* HWY_RESTRICT from, std::int64_t from_step, double* HWY_RESTRICT to, std::int64_t to_step) {
  for (int j = 0; j < 4; ++j) {
    for (int q = 0; q < 4; ++q) to[q * to_step + j] = from[j * from_step + q];
  }
}

/// One panel: to[kk][width] = from[kk * from_row + j * from_col] for j < columns, +0 in the rest.
template <class T>
HWY_NOINLINE void pack_panel(const T* HWY_RESTRICT from, std::int64_t from_row, std::int64_t from_col, std::int64_t k,
                             std::int64_t columns, std::int64_t width, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = kTileColumns<T> / 2;
  std::int64_t k_done = 0;
  if (from_col == 1 && columns == 2 * kWidth && width == 2 * kWidth) {
    for (; k_done < k; ++k_done) {
      hn::StoreU(hn::LoadU(d, from + k_done * from_row), d, to + k_done * width);
      hn::StoreU(hn::LoadU(d, from + k_done * from_row + kWidth), d, to + k_done * width + kWidth);
    }
    return;
  }
  std::int64_t turned = 0;   // columns [0, turned) of k [0, k_done) are written
  if (from_row == 1 && width % 4 == 0) {
    turned = columns - columns % 4;
    for (; k_done + 16 <= k; k_done += 16) {
      for (std::int64_t j = 0; j < turned; j += 4) {
        for (std::int64_t q = k_done; q < k_done + 16; q += 4) turn_4x4(from + j * from_col + q, from_col, to + q * width + j, width);
      }
    }
    for (; k_done + 4 <= k; k_done += 4) {
      for (std::int64_t j = 0; j < turned; j += 4) turn_4x4(from + j * from_col + k_done, from_col, to + k_done * width + j, width);
    }
  }
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const T* row = from + kk * from_row;
    T* out = to + kk * width;
    std::int64_t j = kk < k_done ? turned : 0;
    for (; j < columns; ++j) out[j] = row[j * from_col];
    for (; j < width; ++j) out[j] = T{0};
  }
}

/// Copies one panel of A, `height` rows by k, so that its rows lie side by side. Sets t.a and t.a_step.
/// Returns whether k is contiguous in the copy.
template <class T>
HWY_INLINE bool pack_rows(Tile<T>& t, std::int64_t a_row, std::int64_t a_col, std::int64_t height, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = kTileColumns<T> / 2;
  const T* HWY_RESTRICT from = t.a;
  t.a = to;
  if (a_col == 1) {
    t.a_step = t.k + kWidth;   // room for whole registers
    for (std::int64_t r = 0; r < height; ++r) {
      std::int64_t kk = 0;
      for (; kk + kWidth <= t.k; kk += kWidth) hn::StoreU(hn::LoadU(d, from + r * a_row + kk), d, to + r * t.a_step + kk);
      for (; kk < t.k; ++kk) to[r * t.a_step + kk] = from[r * a_row + kk];
    }
    return true;
  }
  t.a_step = kTileRows;
  for (std::int64_t kk = 0; kk < t.k; ++kk) {
    for (int r = 0; r < kTileRows; ++r) to[kk * kTileRows + r] = from[kk * a_col + (r < height ? r : 0) * a_row];
  }
  return false;
}

/// Computes C[m0, m1) x [n0, n1). `scratch`: kGemmScratch elements of this thread, 64-byte aligned.
template <class T>
HWY_INLINE void gemm_block(const Gemm<T>& g, std::int64_t m0, std::int64_t m1, std::int64_t n0, std::int64_t n1, T* scratch) {
  constexpr std::int64_t kColumns = kTileColumns<T>;
  T* const panel_a = scratch + kMaxChunk * kMaxColumnBlock;
  const std::int64_t rows = m1 - m0, tiles = (rows + kTileRows - 1) / kTileRows;
  const std::int64_t chunk = chunk_length(g.k);
  const std::int64_t whole = g.pack_b ? n0 : n0 + (n1 - n0) / kColumns * kColumns;   // columns read in place end here
  for (std::int64_t k0 = 0; k0 < g.k; k0 += chunk) {
    const std::int64_t length = g.k - k0 < chunk ? g.k - k0 : chunk;
    const bool last = k0 + length == g.k;
    for (std::int64_t j = whole; j < n1; j += kColumns) {
      pack_panel(g.b + k0 * g.b_row + j * g.b_col, g.b_row, g.b_col, length, n1 - j < kColumns ? n1 - j : kColumns, kColumns,
                 scratch + (j - whole) * length);
    }
    std::int64_t i = m0;
    for (std::int64_t at = 0; at < tiles; ++at) {   // balanced: no tile is much shorter than the others
      const std::int64_t height = rows / tiles + (at < rows % tiles ? 1 : 0);
      Tile<T> t;
      t.k = length;
      t.c_row = g.c_row;
      t.c_col = g.c_col;
      t.first = k0 == 0;
      t.bias_by_row = g.bias_by_row;
      t.a = g.a + i * g.a_row + k0 * g.a_col;
      TileFn<T> run;
      if (g.pack_a) {
        run = pack_rows(t, g.a_row, g.a_col, height, panel_a) ? tile_of<T, true>(height) : tile_of<T, false>(height);
      } else if (g.a_col == 1) {
        t.a_step = g.a_row;
        run = tile_of<T, true>(height);
      } else {
        t.a_step = g.a_col;
        run = tile_of<T, false>(height);
      }
      for (std::int64_t j = n0; j < n1; j += kColumns) {
        t.columns = n1 - j < kColumns ? n1 - j : kColumns;
        if (j < whole) {
          t.b = g.b + k0 * g.b_row + j;
          t.b_step = g.b_row;
        } else {
          t.b = scratch + (j - whole) * length;
          t.b_step = kColumns;
        }
        t.c = g.c + i * g.c_row + j * g.c_col;
        t.bias = !last || g.bias == nullptr ? nullptr : g.bias + (g.bias_by_row ? i : j);
        run(t);
      }
      i += height;
    }
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !HWY_ONCE

#endif  // per-target guard
