// Gathers a run's row, metrics and totals.
#include "cli/run_report.h"

namespace lockstep {

Json run_json(const Store& store, const RunRow& run) {
  Json metrics = Json::object();
  for (const auto& m : store.summaries(run.id))
    metrics.set(m.name, Json::object().set("last", m.last).set("last_step", m.last_step).set("best", m.best).set("best_step", m.best_step));
  const RunTotals totals = store.totals(run.id);
  return Json::object()
      .set("run", run.id)
      .set("name", run.name)
      .set("status", text(run.status))
      .set("reason", run.reason.empty() ? Json() : Json(run.reason))
      .set("steps", run.step)
      .set("epochs", run.epoch)
      .set("state_hash", run.state_hash)
      .set("chain_hash", run.chain_hash)
      .set("metrics", std::move(metrics))
      .set("wall_s", totals.wall_s)
      .set("train_samples_per_s", totals.train_samples_per_s)
      .set("step_ms_median", totals.step_ms_median)
      .set("peak_rss_bytes", totals.peak_rss_bytes)
      .set("directory", run.directory)
      .set("identity", run.identity)
      .set("parent", run.parent ? Json::object().set("run", run.parent->run).set("step", run.parent->step).set("hash", run.parent->hash) : Json());
}

}  // namespace lockstep
