// The walk over strided operands and the strided copy. Pure data movement: no arithmetic, hence no order to keep.
#include "kernels/strided.h"

#include <algorithm>
#include <cstring>

#include "lockstep/base/pool.h"

namespace lockstep {
namespace {

constexpr std::int64_t kChunk = 16384;    // elements of one task
constexpr std::int64_t kBlock = 512;      // elements that fit the first-level cache for every operand
constexpr std::int64_t kInline = 65536;   // below this many plain adds waking a thread costs more than it saves

/// A strided array with axes merged wherever memory allows; size-1 axes are gone. `rank` is at least 1.
template <std::size_t kArrays>
struct Merged {
  std::size_t rank = 0;
  std::array<std::int64_t, kMaxRank> dims{};
  std::array<std::array<std::int64_t, kMaxRank>, kArrays> strides{};

  void add(std::int64_t extent, const std::array<std::int64_t, kArrays>& step) {
    if (extent == 1) return;
    if (rank > 0) {
      bool joins = true;
      for (std::size_t a = 0; a < kArrays; ++a) joins = joins && strides[a][rank - 1] == step[a] * extent;
      if (joins) {
        dims[rank - 1] *= extent;
        for (std::size_t a = 0; a < kArrays; ++a) strides[a][rank - 1] = step[a];
        return;
      }
    }
    dims[rank] = extent;
    for (std::size_t a = 0; a < kArrays; ++a) strides[a][rank] = step[a];
    ++rank;
  }
  void finish() {
    if (rank == 0) {
      dims[0] = 1;
      rank = 1;
    }
  }
};

template <class T>
void strip(T* to, std::int64_t to_step, const T* from, std::int64_t from_step, std::int64_t n) {
  if (to_step == 1 && from_step == 1) {
    copy_bytes(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (to_step == 1 && from_step == 0) {
    std::fill_n(to, n, *from);
  } else if (to_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * from_step];
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

/// Calls `visit(offset, step, count, done)` for the strips that make up row-major elements [first, first + n).
template <class Visit>
void strips(const Merged<1>& m, std::int64_t first, std::int64_t n, const Visit& visit) {
  std::array<std::int64_t, kMaxRank> at{};
  std::int64_t rest = first;
  std::int64_t offset = 0;
  for (std::size_t i = m.rank; i-- > 0;) {
    at[i] = rest % m.dims[i];
    rest /= m.dims[i];
    offset += at[i] * m.strides[0][i];
  }
  const std::size_t last = m.rank - 1;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t count = std::min(n - done, m.dims[last] - at[last]);
    visit(offset, m.strides[0][last], count, done);
    done += count;
    offset += count * m.strides[0][last];
    at[last] += count;
    for (std::size_t i = last; i > 0 && at[i] == m.dims[i]; --i) {
      offset += m.strides[0][i - 1] - at[i] * m.strides[0][i];
      at[i] = 0;
      ++at[i - 1];
    }
  }
}

template <class T>
void gather(const Merged<1>& m, std::int64_t first, std::int64_t n, const void* from, void* block) {
  const T* x = static_cast<const T*>(from);
  T* out = static_cast<T*>(block);
  strips(m, first, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count, std::int64_t done) {
    strip(out + done, 1, x + offset, step, count);
  });
}
template <class T>
void scatter(const Merged<1>& m, std::int64_t first, std::int64_t n, void* to, const void* block) {
  T* y = static_cast<T*>(to);
  const T* in = static_cast<const T*>(block);
  strips(m, first, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count, std::int64_t done) {
    strip(y + offset, step, in + done, 1, count);
  });
}

/// Calls `f` with a value of the unsigned type that has `size` bytes.
template <class F>
void with_size(std::size_t size, const F& f) {
  switch (size) {
    case 1: f(std::uint8_t{}); break;
    case 2: f(std::uint16_t{}); break;
    case 4: f(std::uint32_t{}); break;
    default: f(std::uint64_t{}); break;
  }
}

/// How one operand is reached: straight, or through a block.
struct Reach {
  Operand operand;
  bool straight = true;
  bool constant = false;                  // one element repeated: loaded once a chunk
  Merged<1> merged;
};

Reach reach(const Operand& operand) {
  Reach out;
  out.operand = operand;
  const Shape& shape = *operand.shape;
  out.straight = is_contiguous(shape, *operand.strides);
  if (out.straight) return out;
  for (std::size_t i = 0; i < shape.rank(); ++i) out.merged.add(shape[i], {(*operand.strides)[i]});
  out.merged.finish();
  out.constant = out.merged.rank == 1 && out.merged.strides[0][0] == 0;
  return out;
}

void run_chunk(std::span<const Reach> reaches, std::int64_t begin, std::int64_t end, bool all_straight, Loop loop,
               const void* params) {
  Run run;
  run.params = params;
  alignas(64) std::array<std::array<std::uint64_t, kBlock>, kMaxOperands> blocks;
  const std::int64_t block = all_straight ? end - begin : kBlock;
  for (std::int64_t first = begin; first < end; first += block) {
    run.first = first;
    run.n = std::min(block, end - first);
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      const Reach& r = reaches[i];
      if (r.straight) {
        run.at[i] = static_cast<char*>(r.operand.data) + static_cast<std::size_t>(first) * r.operand.size;
        continue;
      }
      run.at[i] = blocks[i].data();
      if (r.operand.fresh || (r.constant && !r.operand.written && first != begin)) continue;
      with_size(r.operand.size, [&](auto word) {
        gather<decltype(word)>(r.merged, first, run.n, r.operand.data, blocks[i].data());
      });
    }
    loop(run);
    for (std::size_t i = 0; i < reaches.size(); ++i) {
      const Reach& r = reaches[i];
      if (r.straight || !r.operand.written) continue;
      with_size(r.operand.size, [&](auto word) {
        scatter<decltype(word)>(r.merged, first, run.n, r.operand.data, blocks[i].data());
      });
    }
  }
}

}  // namespace

void for_each_run(const Shape& shape, std::span<const Operand> operands, Loop loop, const void* params,
                  std::int64_t cost) {
  const std::int64_t n = shape.numel();
  if (n == 0) return;
  bool straight = true;
  for (const Operand& o : operands) straight = straight && is_contiguous(*o.shape, *o.strides);
  if (straight && n * cost <= kInline) {
    Run run;
    run.n = n;
    run.params = params;
    for (std::size_t i = 0; i < operands.size(); ++i) run.at[i] = operands[i].data;
    loop(run);
    return;
  }
  std::array<Reach, kMaxOperands> all;
  for (std::size_t i = 0; i < operands.size(); ++i) all[i] = reach(operands[i]);
  const std::span<const Reach> reaches(all.data(), operands.size());
  if (n * cost <= kInline) {
    run_chunk(reaches, 0, n, straight, loop, params);
    return;
  }
  const std::int64_t chunk = std::max<std::int64_t>(kChunk / cost, 1024) / 16 * 16;
  parallel_for((n + chunk - 1) / chunk, [&](std::int64_t i) {
    run_chunk(reaches, i * chunk, std::min(n, (i + 1) * chunk), straight, loop, params);
  });
}

void map(const KernelCall& call, Loop loop, const void* params, std::int64_t cost) {
  std::array<Operand, kMaxOperands> operands;
  std::size_t n = 0;
  const Array& out = call.out[0];
  for (const Array& a : call.in) operands[n++] = {a.data, &a.shape, &a.strides, size_of(a.dtype)};
  operands[n++] = {out.data, &out.shape, &out.strides, size_of(out.dtype), true, true};
  for_each_run(out.shape, {operands.data(), n}, loop, params, cost);
}

void update(const KernelCall& call, std::uint32_t written, Loop loop, const void* params, std::int64_t cost) {
  std::array<Operand, kMaxOperands> operands;
  std::size_t n = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Array& a = call.in[i];
    if (a.data == nullptr) continue;
    operands[n++] = {a.data, &a.shape, &a.strides, size_of(a.dtype), ((written >> i) & 1U) != 0};
  }
  for_each_run(call.in[0].shape, {operands.data(), n}, loop, params, cost);
}

namespace {

struct Copy {
  Merged<2> m;                            // array 0 is written, array 1 is read
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t across = 0;                 // the axis along which the source is dense; the last axis when rows are copied
};

/// Offsets of the index `at` counted over all axes except `skip_a` and `skip_b`.
std::array<std::int64_t, 2> outer_offsets(const Merged<2>& m, std::int64_t at, std::size_t skip_a, std::size_t skip_b) {
  std::array<std::int64_t, 2> out{};
  for (std::size_t i = m.rank; i-- > 0;) {
    if (i == skip_a || i == skip_b) continue;
    const std::int64_t c = at % m.dims[i];
    at /= m.dims[i];
    out[0] += c * m.strides[0][i];
    out[1] += c * m.strides[1][i];
  }
  return out;
}

void in_chunks(std::int64_t units, std::int64_t elements_per_unit, const auto& body) {
  const std::int64_t per_task = std::max<std::int64_t>(kChunk / std::max<std::int64_t>(elements_per_unit, 1), 1);
  if (units * elements_per_unit <= kInline) {
    body(std::int64_t{0}, units);
    return;
  }
  parallel_for((units + per_task - 1) / per_task,
               [&](std::int64_t i) { body(i * per_task, std::min(units, (i + 1) * per_task)); });
}

template <class T>
void copy_rows(const Copy& c) {
  const std::size_t last = c.m.rank - 1;
  const std::int64_t width = c.m.dims[last];
  const std::int64_t piece = std::min(width, kChunk);
  const std::int64_t pieces = (width + piece - 1) / piece;
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < last; ++i) rows *= c.m.dims[i];
  in_chunks(rows * pieces, piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const auto [to, from] = outer_offsets(c.m, u / pieces, last, last);
      const std::int64_t start = u % pieces * piece;
      const std::int64_t ts = c.m.strides[0][last];
      const std::int64_t fs = c.m.strides[1][last];
      strip(static_cast<T*>(c.to) + to + start * ts, ts, static_cast<const T*>(c.from) + from + start * fs, fs,
            std::min(piece, width - start));
    }
  });
}

/// The source is dense along `across`, the destination along the last axis: squares of one cache line a side.
template <class T>
void copy_transposed(const Copy& c) {
  constexpr std::int64_t kSide = std::max<std::int64_t>(64 / static_cast<std::int64_t>(sizeof(T)), 16);
  const std::size_t last = c.m.rank - 1;
  const std::int64_t height = c.m.dims[c.across];
  const std::int64_t width = c.m.dims[last];
  const std::int64_t bands = (height + kSide - 1) / kSide;
  const std::int64_t ts = c.m.strides[0][c.across];
  const std::int64_t fs = c.m.strides[1][last];
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < last; ++i) outer *= i == c.across ? 1 : c.m.dims[i];
  in_chunks(outer * bands, kSide * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const auto [to, from] = outer_offsets(c.m, u / bands, c.across, last);
      const std::int64_t row = u % bands * kSide;
      const std::int64_t rows = std::min(kSide, height - row);
      for (std::int64_t column = 0; column < width; column += kSide) {
        const std::int64_t columns = std::min(kSide, width - column);
        T* y = static_cast<T*>(c.to) + to + row * ts + column;
        const T* x = static_cast<const T*>(c.from) + from + row + column * fs;
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t k = 0; k < columns; ++k) y[r * ts + k] = x[k * fs + r];
        }
      }
    }
  });
}

}  // namespace

void copy_strided(const Shape& shape, void* to, const Strides& to_strides, const void* from,
                  const Strides& from_strides, std::size_t size) {
  const std::int64_t n = shape.numel();
  if (n == 0) return;
  if (n <= kInline && is_contiguous(shape, to_strides) && is_contiguous(shape, from_strides)) {
    copy_bytes(to, from, static_cast<std::size_t>(n) * size);
    return;
  }
  // Axes in the order of the destination's memory; a stable order, since equal strides are rare and harmless.
  std::array<std::size_t, kMaxRank> order{};
  for (std::size_t i = 0; i < shape.rank(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shape.rank()),
                   [&](std::size_t a, std::size_t b) { return to_strides[a] > to_strides[b]; });
  Copy c{{}, to, from};
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    c.m.add(shape[order[i]], {to_strides[order[i]], from_strides[order[i]]});
  }
  c.m.finish();
  const std::size_t last = c.m.rank - 1;
  c.across = last;
  if (c.m.strides[0][last] == 1 && c.m.strides[1][last] > 1) {
    for (std::size_t i = 0; i < last; ++i) {
      if (c.m.strides[1][i] == 1 && c.m.dims[i] >= 4) c.across = i;
    }
  }
  with_size(size, [&](auto word) {
    using T = decltype(word);
    if (c.across == last) {
      copy_rows<T>(c);
    } else {
      copy_transposed<T>(c);
    }
  });
}

}  // namespace lockstep
