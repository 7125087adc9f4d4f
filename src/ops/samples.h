// Shape grids for the contract tests; compiled into the test library only.
#pragma once

#include "lockstep/tensor/op.h"

namespace lockstep {

using SamplesFn = std::vector<OpSample> (*)();
using BadSamplesFn = std::vector<BadSample> (*)();

#if LOCKSTEP_SAMPLES
/// One input: empty, scalar, one-sized, prime, longer than two vector registers, and enough for several threads.
inline std::vector<OpSample> one_input(double low, double high, const Attrs& attrs = {}, bool gradient = true) {
  std::vector<OpSample> out;
  for (const Shape& s : {Shape{3, 5}, Shape{0, 4}, Shape{}, Shape{1}, Shape{7, 1}, Shape{37}, Shape{2, 3, 4},
                         Shape{4, 129}, Shape{260, 263}})
    out.push_back({.in = {{.shape = s, .low = low, .high = high}},
                   .attrs = attrs,
                   .check_gradient = gradient && s.numel() < 100});
  return out;
}
/// Two inputs of one dtype: equal shapes and every kind of broadcast.
inline std::vector<OpSample> two_inputs(DType t, double low_b = -2, bool gradient = true) {
  std::vector<OpSample> out;
  const std::vector<std::array<Shape, 2>> pairs = {
      {Shape{3, 5}, Shape{3, 5}},     {Shape{3, 5}, Shape{5}},     {Shape{3, 1}, Shape{1, 5}},
      {Shape{}, Shape{2, 3}},         {Shape{2, 3}, Shape{}},      {Shape{}, Shape{}},
      {Shape{0, 4}, Shape{1, 4}},     {Shape{1}, Shape{7}},        {Shape{2, 1, 3}, Shape{13, 1}},
      {Shape{67, 33}, Shape{67, 33}}, {Shape{5, 41}, Shape{5, 1}}, {Shape{260, 263}, Shape{263}}};
  for (const auto& [a, b] : pairs)
    out.push_back({.in = {{.shape = a, .dtype = t}, {.shape = b, .dtype = t, .low = low_b}},
                   .check_gradient = gradient && a.numel() < 60});
  return out;
}
inline std::vector<BadSample> bad_pair() {
  return {{.in = {{.shape = {3, 4}}, {.shape = {3, 5}}}, .expect = "shapes [3, 4] and [3, 5] do not broadcast"},
          {.in = {{.shape = {3}}, {.shape = {3}, .dtype = DType::f64}},
           .expect = "have dtypes float32 and float64; they must be equal"}};
}
inline std::vector<BadSample> bad_integer() {
  return {{.in = {{.shape = {3}, .dtype = DType::i64}}, .expect = "has dtype int64; it must be float32 or float64"}};
}
#endif

}  // namespace lockstep
