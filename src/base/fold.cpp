// The scalar form of A4 for host-side totals.
#include "lockstep/base/fold.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kLanes = 16, kChunk = 4096;

double fold_chunk(std::span<const double> v) {
  std::array<double, kLanes> lane{};
  for (std::size_t i = 0; i < v.size(); ++i) lane[i % kLanes] += v[i];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

}  // namespace

double fold_sum(std::span<const double> v) {
  if (v.size() <= kChunk) return fold_chunk(v);
  std::vector<double> level;
  for (std::size_t at = 0; at < v.size(); at += kChunk) level.push_back(fold_chunk(v.subspan(at, std::min(kChunk, v.size() - at))));
  while (level.size() > 1) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < level.size(); i += 2) level[n++] = i + 1 < level.size() ? level[i] + level[i + 1] : level[i];
    level.resize(n);
  }
  return level[0];
}

}  // namespace lockstep
