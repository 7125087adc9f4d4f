// Progress of a run on stderr: a bar that redraws itself on a terminal, plain lines anywhere else.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// What stderr can do.
struct Terminal {
  bool interactive = false;  // a terminal that can redraw a line
  bool colour = false;       // NO_COLOR is not set
  int width = 80;            // columns
};
/// Asks the stream, TERM, NO_COLOR and COLUMNS.
Terminal inspect_terminal(std::FILE* stream);

/// Where a run stands. Totals of 0 are unknown.
struct ProgressStep {
  std::int64_t step = 0, total_steps = 0;    // steps done
  std::int64_t epoch = 0, total_epochs = 0;  // epochs begun, counted from 1
  double loss = 0, lr = 0, samples_per_s = 0;
};

/// "epoch 2/5  step 1200/4690  loss 0.4213  lr 0.001  51.2k samples/s  eta 12.3s"
std::string step_text(const ProgressStep& step, double eta_s);
/// As step_text(), behind a bar, and never wider than `width`: first words are left out, then half of the bar, then the bar.
std::string bar_text(const ProgressStep& step, double eta_s, int width);
/// "eval  step 938  val/accuracy 0.8712  val/loss 0.3601"
std::string evaluation_text(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

/// Prints what a run reports. Steps that come too early are dropped: on a terminal ten lines a second are drawn; elsewhere
/// the caller hands over logged steps only, and each is printed. Nothing here throws: a lost terminal ends no run.
class Progress {
 public:
  Progress(std::FILE* stream, Terminal terminal, bool quiet);
  /// Takes the bar off the screen.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Nanoseconds between steps worth handing over; 0: logged steps only.
  [[nodiscard]] std::int64_t step_interval_ns() const;
  /// `logged`: a step that is due by the log interval. `now_ns` is monotonic_ns().
  void step(const ProgressStep& step, bool logged, std::int64_t now_ns);
  void evaluated(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
  void committed(std::int64_t step, bool best);
  /// A line of its own, above the bar.
  void say(std::string_view line);

 private:
  void line(std::string_view text, std::string_view colour);
  void clear();
  [[nodiscard]] double eta(const ProgressStep& step, std::int64_t now_ns);

  std::FILE* stream_;
  Terminal terminal_;
  bool quiet_;
  bool drawn_ = false;
  std::string bar_;
  std::int64_t last_ns_ = 0, start_ns_ = 0, start_step_ = 0;
};

}  // namespace lockstep
