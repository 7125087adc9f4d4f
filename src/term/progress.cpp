// Progress of a run on stderr.
#include "lockstep/term/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lockstep/base/text.h"
#include "lockstep/term/text_width.h"

namespace lockstep {
namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;
constexpr int kBarWidth = 20;
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kReset = "\x1b[0m";

std::string of_total(std::int64_t done, std::int64_t total) {
  return total > 0 ? fmt::format("{}/{}", done, total) : fmt::format("{}", done);
}

// `short_form` leaves out the words that a bar beside them makes plain.
std::string words(const ProgressStep& s, double eta_s, bool short_form) {
  std::string out;
  if (s.epoch > 0) out += fmt::format("epoch {}  ", of_total(s.epoch, s.total_epochs));
  out += fmt::format("{}{}  loss {}  lr {}", short_form ? "" : "step ", of_total(s.step, s.total_steps), number_text(s.loss),
                     number_text(s.lr));
  if (s.samples_per_s > 0) out += fmt::format("  {}{}", count_text(s.samples_per_s), short_form ? "/s" : " samples/s");
  if (!std::isnan(eta_s)) out += fmt::format("  eta {}", duration_text(eta_s));
  return out;
}

// A bar of so many columns and two blanks; nothing where the total is unknown.
std::string bar(const ProgressStep& s, int width) {
  std::string out;
  if (s.total_steps <= 0) return out;
  const auto filled = static_cast<int>(std::clamp<std::int64_t>(s.step * width / s.total_steps, 0, width));
  for (int i = 0; i < width; ++i) out += i < filled ? "━" : "╌";
  return out + "  ";
}

}  // namespace

Terminal inspect_terminal(std::FILE* stream) {
  Terminal out;
  const int descriptor = ::fileno(stream);
  const char* term = std::getenv("TERM");
  out.interactive = ::isatty(descriptor) == 1 && (term == nullptr || std::string_view(term) != "dumb");
  const char* no_colour = std::getenv("NO_COLOR");
  out.colour = out.interactive && (no_colour == nullptr || *no_colour == '\0');
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    out.width = size.ws_col;
  } else if (const char* columns = std::getenv("COLUMNS")) {
    const auto parsed = parse_int(columns);
    if (parsed && *parsed >= 20 && *parsed <= 1000) out.width = static_cast<int>(*parsed);
  }
  return out;
}

std::string step_text(const ProgressStep& s, double eta_s) { return words(s, eta_s, false); }

std::string bar_text(const ProgressStep& s, double eta_s, int width) {
  const std::string shortened = words(s, eta_s, true);
  for (const std::string& line : {bar(s, kBarWidth) + step_text(s, eta_s), bar(s, kBarWidth) + shortened, bar(s, kBarWidth / 2) + shortened})
    if (text_width(line) <= width) return line;
  return fit(shortened, width);
}

std::string evaluation_text(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  std::string out = fmt::format("eval  step {}", step);
  for (const auto& [name, value] : values) out += fmt::format("  {} {}", name, number_text(value));
  return out;
}

Progress::Progress(std::FILE* stream, Terminal terminal, bool quiet)
    : stream_(stream), terminal_(terminal), quiet_(quiet) {}

Progress::~Progress() { clear(); }

std::int64_t Progress::step_interval_ns() const { return terminal_.interactive && !quiet_ ? kRedrawNs : 0; }

double Progress::eta(const ProgressStep& step, std::int64_t now_ns) {
  if (start_ns_ == 0) {
    start_ns_ = now_ns;
    start_step_ = step.step;
  }
  const double seconds = static_cast<double>(now_ns - start_ns_) * 1e-9;
  if (step.total_steps <= 0 || step.step <= start_step_ || seconds <= 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return seconds / static_cast<double>(step.step - start_step_) * static_cast<double>(step.total_steps - step.step);
}

void Progress::step(const ProgressStep& step, bool logged, std::int64_t now_ns) {
  if (quiet_) return;
  const double left = eta(step, now_ns);
  if (!terminal_.interactive) {
    if (logged) line(step_text(step, left), {});
    return;
  }
  if (now_ns - last_ns_ < kRedrawNs && step.step != step.total_steps) return;
  last_ns_ = now_ns;
  bar_ = bar_text(step, left, terminal_.width - 1);
  std::fprintf(stream_, "\r\x1b[K%s", bar_.c_str());
  std::fflush(stream_);
  drawn_ = true;
}

void Progress::evaluated(std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (!quiet_) line(evaluation_text(step, values), kGreen);
}

void Progress::committed(std::int64_t step, bool best) {
  // On a terminal every commit would scroll the bar away; a new best is worth a line.
  if (quiet_ || (terminal_.interactive && !best)) return;
  line(fmt::format("checkpoint  step {}{}", step, best ? "  (best)" : ""), kDim);
}

void Progress::say(std::string_view text) { line(text, kYellow); }

void Progress::line(std::string_view text, std::string_view colour) {
  const bool redraw = drawn_;
  clear();
  const bool paint = terminal_.colour && !colour.empty();
  const std::string shown = printable(text);
  const std::string out = paint ? fmt::format("{}{}{}\n", colour, shown, kReset) : shown + "\n";
  std::fwrite(out.data(), 1, out.size(), stream_);
  if (redraw) {
    std::fputs(bar_.c_str(), stream_);
    drawn_ = true;
  }
  std::fflush(stream_);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace lockstep
