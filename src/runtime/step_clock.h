// StepClock: start-to-start times of steps, kept small, for the median that people compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace lockstep {

/// Keeps at most 65,536 times: when full, every other one is dropped and from then on every other step is kept.
class StepClock {
 public:
  /// A step starts now; the time since the last start is recorded.
  void start(std::int64_t now_ns) {
    if (last_ != 0 && (count_++ & (stride_ - 1)) == 0) keep(static_cast<float>(now_ns - last_));
    last_ = now_ns;
  }
  /// The next start is not compared with the last one (an evaluation or a commit lay between).
  void pause() { last_ = 0; }
  /// Median in milliseconds; NaN without steps.
  [[nodiscard]] double median_ms() const {
    if (times_.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::vector<float> v = times_;
    const auto mid = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
    std::nth_element(v.begin(), mid, v.end());
    return static_cast<double>(*mid) / 1e6;
  }

 private:
  void keep(float ns) {
    if (times_.size() == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) times_[i] = times_[2 * i];
      times_.resize(kMost / 2);
      stride_ *= 2;
    }
    times_.push_back(ns);
  }
  static constexpr std::size_t kMost = 65536;
  std::vector<float> times_;
  std::uint64_t count_ = 0, stride_ = 1;
  std::int64_t last_ = 0;
};

}  // namespace lockstep
