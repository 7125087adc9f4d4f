// The one core of every matrix product: blocks of C from tiles over packed or direct operands.
// No guard: a family includes it once for each instruction set.
#include "kernels/cpu/gemm_pack-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// Computes C[m0, m1) x [n0, n1). `scratch`: kGemmScratch elements of this thread, 64-byte aligned.
template <class T>
HWY_INLINE void gemm_block(const Gemm<T>& g, std::int64_t m0, std::int64_t m1, std::int64_t n0, std::int64_t n1,
                           T* scratch) {
  constexpr std::int64_t kColumns = kTileColumns<T>;
  T* const panel_a = scratch + kMaxChunk * kMaxColumnBlock;
  const std::int64_t rows = m1 - m0, tiles = (rows + kTileRows<T> - 1) / kTileRows<T>;
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
