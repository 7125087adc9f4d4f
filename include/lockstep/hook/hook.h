// Hook: logic at fixed points of a run, in list order. Commit and progress are not hooks.
#pragma once

#include <functional>
#include <map>

#include "lockstep/metric/metric.h"
#include "lockstep/state/visitor.h"

namespace lockstep {

enum class Point : std::uint8_t { run_start, step_end, eval_end, run_end };

/// What a hook may see and ask for at a point. Valid during the call.
class RunView {
 public:
  virtual ~RunView() = default;
  [[nodiscard]] virtual std::int64_t step() const = 0;  // optimizer steps done
  [[nodiscard]] virtual std::int64_t epoch() const = 0; // epochs completed
  /// At eval_end: value of "val/accuracy" and so on; nothing when the evaluation has no such metric.
  [[nodiscard]] virtual std::optional<double> metric(std::string_view name) const = 0;
  /// Ends the run after the commit of this step; `reason` is shown and stored.
  virtual void request_stop(std::string reason) = 0;
};

/// "val/accuracy" -> the metric's direction. Throws usage with the names that this run reports.
using DirectionOf = std::function<Direction(std::string_view name)>;

class Hook {
 public:
  static constexpr std::string_view kKind = "hooks";
  virtual ~Hook() = default;
  /// Once, when the experiment is built and nothing has run: settle what depends on the run's metrics. Throws usage.
  virtual void prepare(const DirectionOf&) {}
  virtual void at(Point p, RunView& run) = 0;
  /// Everything a later step depends on (patience, best so far).
  virtual void state(StateVisitor&) {}
  /// True when the hook reads evaluations: then the evaluation interval is part of the identity.
  [[nodiscard]] virtual bool listens() const { return false; }
};
using HookDef = ComponentOf<Hook>;

}  // namespace lockstep
