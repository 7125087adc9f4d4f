// The one walk over strided operands: kernels give a loop over consecutive elements, this gives it blocks, on all threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lockstep/base/copy.h"
#include "lockstep/tensor/kernel.h"

namespace lockstep {

inline constexpr std::size_t kMaxOperands = 4;

/// What a loop is handed: `n` consecutive elements of every operand. The order of operands is the caller's
/// (map(): inputs, then the output). A written operand may be the same memory as one that is read.
struct Run {
  std::int64_t n = 0;
  std::int64_t first = 0;                       // row-major index of the first element; a multiple of 16
  void* at[kMaxOperands] = {};                  // a plain array: vector regions must not instantiate std functions
  const void* params = nullptr;
};
using Loop = void (*)(const Run&);
/// A row of a table of loops: float, double.
inline constexpr int kFloatTypes = 2;

/// One operand: `data` is its first element. It is loaded before a loop runs unless `fresh`,
/// and stored afterwards when `written`.
struct Operand {
  void* data = nullptr;
  const Shape* shape = nullptr;
  const Strides* strides = nullptr;
  std::size_t size = 0;                         // bytes of an element
  bool written = false, fresh = false;
};

/// Runs `loop` over all elements of `shape`. Operands that are not contiguous are copied through a small block,
/// so a loop never sees a stride. Chunks depend on the shape only; small shapes run on the calling thread.
/// `cost` is the time of one element in units of a plain add: it moves the border between small and large.
void for_each_run(const Shape& shape, std::span<const Operand> operands, Loop loop, const void* params,
                  std::int64_t cost = 1);

/// An elementwise op: operands are the call's inputs (all of the output's shape), then its output.
void map(const KernelCall& call, Loop loop, const void* params = nullptr, std::int64_t cost = 1);

/// An op that mutates inputs: operands are the present inputs in order; bit i of `written` marks input i.
void update(const KernelCall& call, std::uint32_t written, Loop loop, const void* params, std::int64_t cost = 1);

/// Copies elements of `size` bytes from one strided array to another of the same shape (no overlap).
void copy_strided(const Shape& shape, void* to, const Strides& to_strides, const void* from,
                  const Strides& from_strides, std::size_t size);

}  // namespace lockstep
