// Gathers a run's row, metrics and totals.
#include "cli/run_report.h"

#include <cmath>

#include "cli/command.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/term/table.h"
#include "lockstep/term/text_width.h"

namespace lockstep {
namespace {

// A measurement that nobody made is null; a metric that is NaN stays "NaN".
Json known(double value) { return std::isnan(value) ? Json() : Json(value); }
Json known(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string short_hash(const std::string& hash) { return hash.empty() ? "-" : hash.substr(0, 16); }

}  // namespace

Json run_json(const Store& store, const RunRow& run) {
  Json metrics = Json::object();
  for (const MetricSummary& m : store.summaries(run.id)) {
    metrics.set(m.name, Json::object()
                            .set("last", m.last)
                            .set("last_step", m.last_step)
                            .set("best", m.best)
                            .set("best_step", m.best_step));
  }
  const RunTotals totals = store.totals(run.id);
  Json parent;
  if (run.parent) {
    parent = Json::object().set("run", run.parent->run).set("step", run.parent->step).set("hash", run.parent->hash);
  }
  return Json::object()
      .set("run", run.id)
      .set("name", run.name)
      .set("status", text(run.status))
      .set("reason", known(run.reason))
      .set("steps", run.step)
      .set("epochs", run.epoch)
      .set("state_hash", known(run.state_hash))
      .set("chain_hash", known(run.chain_hash))
      .set("metrics", std::move(metrics))
      .set("wall_s", totals.wall_s)
      .set("train_samples_per_s", known(totals.train_samples_per_s))
      .set("step_ms_median", known(totals.step_ms_median))
      .set("peak_rss_bytes", totals.peak_rss_bytes)
      .set("directory", run.directory)
      .set("identity", run.identity)
      .set("parent", std::move(parent));
}

std::string run_text(const Store& store, const RunRow& run) {
  const RunTotals totals = store.totals(run.id);
  Table facts({{""}, {""}});
  facts.row({"run", run.id});
  facts.row({"name", run.name});
  facts.row({"status", run.reason.empty() ? std::string(text(run.status))
                                          : fmt::format("{} ({})", text(run.status), run.reason)});
  facts.row({"created", time_text(run.created_ns)});
  if (run.parent) facts.row({"parent", fmt::format("{} at step {}", run.parent->run, run.parent->step)});
  facts.row({"steps", fmt::format("{} ({} epochs)", run.step, run.epoch)});
  facts.row({"state hash", run.state_hash.empty() ? "-" : run.state_hash});
  facts.row({"chain hash", run.chain_hash.empty() ? "-" : run.chain_hash});
  facts.row({"identity", run.identity});
  facts.row({"wall time", duration_text(totals.wall_s)});
  facts.row({"speed", fmt::format("{} samples/s, {} ms a step (median)", count_text(totals.train_samples_per_s),
                                  std::isnan(totals.step_ms_median) ? "-" : number_text(totals.step_ms_median))});
  facts.row({"peak memory", bytes_text(totals.peak_rss_bytes)});
  facts.row({"folder", run.directory});
  std::string out = facts.text();

  Table metrics({{"metric"}, {"last", Align::right}, {"best", Align::right}, {"best step", Align::right}});
  for (const MetricSummary& m : store.summaries(run.id)) {
    metrics.row({m.name, number_text(m.last), m.direction == Direction::none ? "-" : number_text(m.best),
                 m.direction == Direction::none ? "-" : text(m.best_step)});
  }
  if (!metrics.empty()) out += "\n" + metrics.text();

  Table segments({{"segment"}, {"steps", Align::right}, {"host"}, {"pid", Align::right}, {"isa"},
                  {"threads", Align::right}, {"workers", Align::right}, {"git"}, {"ended"}});
  std::int64_t number = 0;
  for (const SegmentRow& s : store.segments(run.id)) {
    const std::string git = s.git_commit.empty() ? "-" : s.git_commit.substr(0, 10) + (s.git_dirty ? "+" : "");
    segments.row({text(++number), fmt::format("{}-{}", s.first_step, s.last_step), s.host, text(s.pid), s.isa,
                  text(s.threads), text(s.workers), git, s.exit_code ? fmt::format("exit {}", *s.exit_code) : "-"});
  }
  if (!segments.empty()) out += "\n" + segments.text();

  Table files({{"file"}, {"step", Align::right}, {"size", Align::right}, {"state hash"}});
  for (const ArtifactRow& a : store.artifacts(run.id)) {
    files.row({a.path, text(a.step), bytes_text(a.bytes), short_hash(a.hash)});
  }
  if (!files.empty()) out += "\n" + files.text();

  Table events({{"event"}, {"step", Align::right}, {"time"}, {""}});
  for (const EventRow& e : store.events(run.id)) events.row({e.kind, text(e.step), time_text(e.time_ns), e.text});
  if (!events.empty()) out += "\n" + events.text();
  return out;
}

std::string reap_text(const std::vector<ReapResult>& results) {
  if (results.empty()) return "nothing to do\n";
  Table table({{"run"}, {"now"}, {""}});
  for (const ReapResult& r : results) table.row({r.run, r.action, r.text});
  return table.text();
}

Json reap_json(const std::vector<ReapResult>& results) {
  Json list = Json::array();
  for (const ReapResult& r : results) {
    list.push(Json::object().set("run", r.run).set("action", r.action).set("text", r.text));
  }
  return Json::object().set("runs", std::move(list));
}

void warn_about(const Store& store, Console& console) {
  for (const std::string& warning : store.warnings()) console.warn(warning);
}

}  // namespace lockstep
