// Greedy pairwise covering: simple, the same on every machine with the same instruction sets.
#include "determinism/array.h"

#include <algorithm>
#include <array>

namespace lockstep::determinism {
namespace {

constexpr std::size_t kFactors = 5;
enum Factor : std::size_t { kThreads, kWorkers, kIsa, kResume, kLayout };
using Choice = std::array<std::size_t, kFactors>;

constexpr std::array<int, 4> kThreadCounts = {1, 2, 3, 7};
constexpr std::array<int, 3> kWorkerCounts = {0, 1, 4};
struct Layout {
  int shards, per_pass;
};
constexpr std::array<Layout, 3> kLayouts = {{{4, 1}, {4, 4}, {1, 1}}};

std::vector<Isa> isas() {
  std::vector<Isa> out;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
    if (supported(isa)) out.push_back(isa);
  return out;
}

std::vector<std::optional<std::int64_t>> resume_points(Length l) {
  return {std::nullopt, 1, l.steps_per_epoch + l.steps_per_epoch / 2, 2 * l.steps_per_epoch, l.steps - 1};
}

Choice sizes(Length l) { return {kThreadCounts.size(), kWorkerCounts.size(), isas().size(), resume_points(l).size(), kLayouts.size()}; }

/// The second process takes the next value of each factor, so that a resume also crosses them.
Row row_of(const Choice& c, Length l) {
  const std::vector<Isa> sets = isas();
  const auto next = [](const auto& values, std::size_t at) { return values[(at + 1) % values.size()]; };
  Row row;
  const Layout layout = kLayouts[c[kLayout]];
  row.shards = layout.shards;
  row.first = {kThreadCounts[c[kThreads]], kWorkerCounts[c[kWorkers]], sets[c[kIsa]], layout.per_pass};
  row.second = {next(kThreadCounts, c[kThreads]), next(kWorkerCounts, c[kWorkers]), next(sets, c[kIsa]), layout.shards / layout.per_pass};
  row.resume_at = resume_points(l)[c[kResume]];
  return row;
}

/// Which pairs (factor a = value, factor b = value) occurred.
class Pairs {
 public:
  explicit Pairs(const Choice& size) : size_(size), seen_(kFactors * kFactors * kMost * kMost) {}
  [[nodiscard]] bool seen(std::size_t a, std::size_t va, std::size_t b, std::size_t vb) const { return seen_[at(a, va, b, vb)]; }
  void add(const Choice& c) {
    for (std::size_t a = 0; a < kFactors; ++a)
      for (std::size_t b = a + 1; b < kFactors; ++b) seen_[at(a, c[a], b, c[b])] = seen_[at(b, c[b], a, c[a])] = true;
  }
  /// The first pair that did not occur, as a choice of two factors; false when there is none.
  bool missing(Choice& c, std::array<bool, kFactors>& fixed) const {
    for (std::size_t a = 0; a < kFactors; ++a)
      for (std::size_t b = a + 1; b < kFactors; ++b)
        for (std::size_t va = 0; va < size_[a]; ++va)
          for (std::size_t vb = 0; vb < size_[b]; ++vb) {
            if (seen(a, va, b, vb)) continue;
            c[a] = va;
            c[b] = vb;
            fixed[a] = fixed[b] = true;
            return true;
          }
    return false;
  }

 private:
  static constexpr std::size_t kMost = 8;
  static std::size_t at(std::size_t a, std::size_t va, std::size_t b, std::size_t vb) { return ((a * kFactors + b) * kMost + va) * kMost + vb; }
  Choice size_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<Row> pairwise_rows(Length length) {
  const Choice size = sizes(length);
  Pairs pairs(size);
  std::vector<Row> rows;
  for (;;) {
    Choice c{};
    std::array<bool, kFactors> fixed{};
    if (!pairs.missing(c, fixed)) return rows;
    for (std::size_t f = 0; f < kFactors; ++f) {
      if (fixed[f]) continue;
      std::size_t best = 0, gain_of_best = 0;
      for (std::size_t v = 0; v < size[f]; ++v) {
        std::size_t gain = 0;
        for (std::size_t g = 0; g < kFactors; ++g)
          if (fixed[g] && !pairs.seen(f, v, g, c[g])) ++gain;
        if (gain > gain_of_best) {
          best = v;
          gain_of_best = gain;
        }
      }
      c[f] = best;
      fixed[f] = true;
    }
    pairs.add(c);
    rows.push_back(row_of(c, length));
  }
}

std::vector<Row> short_rows(Length length) {
  const Choice size = sizes(length);
  const std::size_t most = *std::ranges::max_element(size);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < most; ++i) {
    Choice c{};
    for (std::size_t f = 0; f < kFactors; ++f) c[f] = i % size[f];
    rows.push_back(row_of(c, length));
  }
  return rows;
}

std::string missing_isas() {
  std::string out;
  for (const Isa isa : {Isa::avx2, Isa::avx512})
    if (!supported(isa)) out += (out.empty() ? "" : ", ") + std::string(text(isa));
  return out;
}

}  // namespace lockstep::determinism
