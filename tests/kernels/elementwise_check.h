// Runs one kernel on made-up arrays under every instruction set and several thread counts, and compares bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lockstep/kernels/cpu.h"
#include "lockstep/tensor/kernel.h"

namespace lockstep::test {

/// Sizes around the widths of vectors, blocks and chunks.
inline constexpr std::int64_t kSizes[] = {0, 1, 7, 15, 16, 17, 31, 33, 4095, 4096, 4097, 100003};

/// An array with its own memory. `data` holds every element that the strides reach.
struct Held {
  std::vector<std::byte> data;
  Array array;
  Held() = default;
  /// Contiguous, zeroed.
  Held(const Shape& shape, DType type);
  /// Strided over zeroed memory; strides are not negative.
  Held(const Shape& shape, DType type, const Strides& strides);
  Held(const Held& other);
  Held& operator=(const Held& other);
  template <class T>
  [[nodiscard]] T* as() { return array.as<T>(); }
};

/// Values of every kind: ordinary ones in [-scale, scale), and NaN, infinities, zeros of both signs, subnormals and
/// extremes sprinkled over them. Integers: small ones and the ends of the range. The same for the same seed.
void fill_with_everything(Held& held, std::uint64_t seed, double scale = 4);
/// Ordinary values only.
void fill_with_ordinary(Held& held, std::uint64_t seed, double low, double high);

/// The definition of one kernel. Fails the test when there is none.
const KernelDef& kernel_of(std::string_view op, DType type);
/// Runs it once with the current instruction set and threads. Mutated inputs are written.
void run_kernel(std::string_view op, DType key, std::vector<Held>& in, std::vector<Held>& out, const Attrs& attrs = {});

/// The instruction sets that this CPU has, scalar first; says which are missing.
std::vector<Isa> isas_here();
/// The bytes of all elements, row-major, NaNs made equal.
std::vector<std::byte> canonical_bytes(const Held& held);

/// Runs the kernel with the scalar set and one thread, then with every set and (when there is enough to share) 1, 2, 3
/// and 7 threads from the same inputs; checks that outputs and mutated inputs have equal bytes. Returns the scalar results: outputs, then
/// inputs.
std::vector<Held> check_every_isa(std::string_view op, DType key, const std::vector<Held>& in,
                                  const std::vector<Held>& out, const Attrs& attrs = {});

/// As check_every_isa for an elementwise op with `inputs` inputs of `type` and an output of `out_type`: all kSizes,
/// and matrices with broadcast rows, columns and scalars, transposes and gaps.
void check_elementwise(std::string_view op, DType type, int inputs, DType out_type, const Attrs& attrs = {});

/// Distance in units of the last place of `exact` rounded to T; 0 when both are NaN, both infinite, or equal.
double ulps(float got, long double exact);
double ulps(double got, long double exact);

}  // namespace lockstep::test
