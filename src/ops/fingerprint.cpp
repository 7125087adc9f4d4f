// The NH-128 digest of a tensor's words.
#include <fmt/core.h>

#include "lockstep/tensor/infer.h"
#include "ops/internal.h"
#include "ops/samples.h"

namespace lockstep {
namespace {

constexpr std::string_view kX[] = {"x"};
constexpr AttrDef kAttrs[] = {
    {"first", "Position of the first 32-bit word in the digested sequence: even, at least 0.", std::int64_t{0}}};

std::vector<Meta> infer(const OpIn& c) {
  const auto first = c.attrs.get<std::int64_t>(0);
  if (first < 0 || first % 2 != 0)
    refuse(c, fmt::format("first is {}; records start at even word positions, from 0", first));
  return result({2}, DType::i64);
}

#if LOCKSTEP_SAMPLES
std::vector<OpSample> samples() {
  std::vector<OpSample> out;
  for (const DType t : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean})
    for (const Shape& s : {Shape{3, 5}, Shape{}, Shape{0, 2}, Shape{4, 129}})
      out.push_back({.in = {{.shape = s, .dtype = t}}, .attrs = {std::int64_t{6}}});
  return out;
}
std::vector<BadSample> bad_samples() {
  return {{.in = {{.shape = {3}}}, .attrs = {std::int64_t{-2}}, .expect = "first is -2"},
          {.in = {{.shape = {3}}},
           .attrs = {std::int64_t{3}},
           .expect = "first is 3; records start at even word positions"}};
}
#else
constexpr SamplesFn samples = nullptr;
constexpr BadSamplesFn bad_samples = nullptr;
#endif

constexpr OpDef kOps[] = {
    {.name = "nh128",
     .doc = "Two sums mod 2^64 of (x_i + k_i)(x_{i+1} + k'_i) over the 32-bit words of x from word position `first`, "
            "as the bits of int64 [2].",
     .inputs = kX,
     .attrs = kAttrs,
     .infer = infer,
     .gradient = Gradient::none,
     .dense = true,
     .samples = samples,
     .bad_samples = bad_samples},
};

}  // namespace

extern constinit const std::span<const OpDef> ops_fingerprint = kOps;

Tensor nh128(const Tensor& x, std::int64_t first) { return apply1(kOps[0], {x}, {first}); }

}  // namespace lockstep
