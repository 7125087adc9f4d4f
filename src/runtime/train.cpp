// The training loop: batch, step, chain, log, evaluation, hooks, commit, stops; in that order and nowhere else.
#include "lockstep/runtime/train.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/pool.h"
#include "lockstep/base/signals.h"
#include "lockstep/base/text.h"
#include "lockstep/kernels/cpu.h"
#include "lockstep/runtime/step.h"
#include "lockstep/state/hash.h"
#include "runtime/session.h"
#include "runtime/step_clock.h"

namespace lockstep {
namespace {

constexpr std::string_view kInterrupted = "interrupted by a signal";

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

bool better(double value, const std::optional<double>& best, Direction direction) {
  if (std::isnan(value)) return false;
  if (!best || std::isnan(*best)) return true;
  return direction == Direction::higher ? value > *best : value < *best;
}

/// Of the parameters alone: what training is there to change.
Nh128 parameter_fingerprint(const Experiment& e) {
  std::vector<TensorEntry> parameters;
  for (const auto& t : e.state)
    if (t.kind == StateKind::parameter) parameters.push_back({t.name, t.tensor});
  return state_fingerprint(parameters);
}

/// One process's work on one run.
class Trainer final : public RunView {
 public:
  Trainer(Experiment& e, Opened opened, Committer& committer, Store& store, Observer& observer, std::int64_t segment, int signals)
      : e_(e), opened_(std::move(opened)), committer_(committer), store_(store), observer_(observer), segment_(segment), stepper_(e),
        loader_(*e.train.dataset, e.train.transforms, e.config.data.loader, e.seed(), Pass::training),
        loss_id_(committer.rows.metric_id("train/loss")), lr_id_(committer.rows.metric_id("train/lr")),
        norm_id_(committer.rows.metric_id("train/grad_norm")), last_(last_step(e)), signals_(signals) {}

  TrainResult run();

  [[nodiscard]] std::int64_t step() const override { return opened_.train.step; }
  [[nodiscard]] std::int64_t epoch() const override { return opened_.train.step / e_.counters.steps_per_epoch; }
  [[nodiscard]] std::optional<double> metric(std::string_view name) const override {
    for (const auto& v : opened_.selection.values)
      if (v.name == name) return v.value;
    return std::nullopt;
  }
  void request_stop(std::string reason) override {
    if (opened_.train.stop_reason.empty()) opened_.train.stop_reason = std::move(reason);
  }

 private:
  void call_hooks(Point p) {
    for (const auto& h : e_.hooks) h->at(p, *this);
  }
  void one_step();
  [[nodiscard]] bool evaluation_due() const { return lockstep::evaluation_due(e_, step(), opened_.selection.last_eval); }
  [[nodiscard]] bool interrupted() const { return interrupts() != signals_; }
  bool evaluate_now();                 // false: interrupted
  [[nodiscard]] bool commit_due() const;
  bool commit();
  SegmentEnd segment_so_far() const;
  SegmentEnd segment_end(int exit_code) const;
  void report_step(const StepResult& r, std::int64_t rows);
  void fail_run(const Error& why);

  Experiment& e_;
  Opened opened_;
  Committer& committer_;
  Store& store_;
  Observer& observer_;
  std::int64_t segment_;
  Stepper stepper_;
  Loader loader_;
  RowLog::MetricId loss_id_, lr_id_, norm_id_;
  Batch batch_;
  StepClock clock_;
  std::int64_t last_, started_ns_ = monotonic_ns(), last_commit_ns_ = monotonic_ns(), train_ns_ = 0;
  std::int64_t samples_ = 0, reported_ns_ = monotonic_ns(), reported_samples_ = 0;
  bool new_best_ = false;
  std::optional<double> earlier_best_;
  std::int64_t earlier_best_step_ = 0;
  int signals_;                        // seen before this run began
};

void Trainer::one_step() {
  const std::int64_t begin = monotonic_ns();
  clock_.start(begin);
  if (!loader_.next(batch_)) fail(Category::internal, "the training loader ended");
  const StepResult r = stepper_.run(batch_);
  ++opened_.train.step;
  committer_.record(batch_.digest, r.loss, r.grad_norm, r.fingerprint);
  const std::int64_t rows = batch_.fields.size();
  samples_ += rows;
  report_step(r, rows);
  train_ns_ += monotonic_ns() - begin;
}

void Trainer::report_step(const StepResult& r, std::int64_t rows) {
  const bool logged = step() % e_.config.train.log_every == 0;
  const std::int64_t epoch_of_step = (step() - 1) / e_.counters.steps_per_epoch;
  if (logged) {
    committer_.rows.metric(step(), epoch_of_step, loss_id_, r.loss);
    committer_.rows.metric(step(), epoch_of_step, lr_id_, r.lr);
    committer_.rows.metric(step(), epoch_of_step, norm_id_, r.grad_norm);
  }
  reported_samples_ += rows;
  const std::int64_t now = monotonic_ns(), interval = observer_.step_interval_ns();
  if (!logged && (interval == 0 || now - reported_ns_ < interval)) return;
  StepEvent ev;
  ev.step = step();
  ev.total_steps = last_;
  ev.epoch = epoch_of_step;
  ev.total_epochs = e_.config.train.epochs.value_or(0);
  ev.loss = r.loss;
  ev.lr = r.lr;
  ev.grad_norm = r.grad_norm;
  ev.samples_per_s = now > reported_ns_ ? static_cast<double>(reported_samples_) * 1e9 / static_cast<double>(now - reported_ns_) : 0;
  ev.logged = logged;
  observer_.stepped(ev);
  reported_ns_ = now;
  reported_samples_ = 0;
}

bool Trainer::evaluate_now() {
  Evaluation all;
  for (const auto& split : e_.evals) {
    auto part = interrupted() ? std::nullopt : evaluate(e_, split);
    if (!part) return false;
    all.samples += part->samples;
    std::ranges::move(part->metrics, std::back_inserter(all.metrics));
  }
  const std::int64_t of_epoch = (step() - 1) / e_.counters.steps_per_epoch;
  for (const auto& m : all.metrics) committer_.rows.metric(step(), of_epoch, committer_.rows.metric_id(m.name), m.value);
  opened_.selection.values = all.metrics;
  opened_.selection.last_eval = step();
  observer_.evaluated(step(), epoch(), all);
  if (const auto& monitor = e_.config.train.checkpoint.monitor) {
    const auto value = metric(*monitor);
    if (value && better(*value, opened_.selection.best, e_.direction(*monitor))) {
      earlier_best_ = opened_.selection.best;
      earlier_best_step_ = opened_.selection.best_step;
      opened_.selection.best = value;
      opened_.selection.best_step = step();
      new_best_ = true;
    }
  }
  call_hooks(Point::eval_end);
  clock_.pause();
  return true;
}

bool Trainer::commit_due() const {
  const auto& c = e_.config.train.checkpoint;
  if (step() == committer_.committed()) return false;
  if (new_best_) return true;
  if (!c.every_steps && !c.every_minutes) return step() % e_.counters.steps_per_epoch == 0;
  if (c.every_steps && step() % *c.every_steps == 0) return true;
  return c.every_minutes && static_cast<double>(monotonic_ns() - last_commit_ns_) > *c.every_minutes * 60e9;
}

bool Trainer::commit() {
  const CommitResult result = committer_.commit(opened_.train, epoch(), opened_.selection, new_best_, segment_so_far(), observer_);
  if (new_best_ && !result.best) {   // a best that was never written is no best
    opened_.selection.best = earlier_best_;
    opened_.selection.best_step = earlier_best_step_;
  }
  new_best_ = false;
  last_commit_ns_ = monotonic_ns();
  clock_.pause();
  return result.done;
}

SegmentEnd Trainer::segment_so_far() const {
  SegmentEnd end;
  end.segment = segment_;
  end.last_step = step();
  end.train_samples = samples_;
  end.peak_rss_bytes = peak_rss_bytes();
  end.wall_s = static_cast<double>(monotonic_ns() - started_ns_) * 1e-9;
  end.train_s = static_cast<double>(train_ns_) * 1e-9;
  end.step_ms_median = clock_.median_ms();
  return end;
}

SegmentEnd Trainer::segment_end(int exit_code) const {
  SegmentEnd end = segment_so_far();
  end.ended_ns = wall_ns();
  end.exit_code = exit_code;
  return end;
}

/// Best effort: the run's row says why it failed, and the curve leads there; the last commit stands either way.
void Trainer::fail_run(const Error& why) {
  try {
    store_.set_status(opened_.row.id, RunStatus::failed, why.message);
    if (why.category == Category::numeric) store_.commit_rows(opened_.row.id, segment_, step(), committer_.rows);
    store_.end_segment(segment_end(exit_code(why.category)));
  } catch (const Error&) {
    // The error on its way out matters more than the row; `runs reap` puts the row right.
  }
}

TrainResult Trainer::run() try {
  call_hooks(Point::run_start);
  loader_.seek(step());
  bool abandoned = false, again = opened_.commit_first;
  if (evaluation_due()) {   // what an interrupted process left undone
    abandoned = !evaluate_now();
    again = again || !abandoned;
  }
  if (again) {
    committer_.set_committed(-1, opened_.state);
    static_cast<void>(commit());
  }
  std::string reason;
  const Nh128 began = parameter_fingerprint(e_);
  const std::int64_t began_step = step();
  while (true) {
    const double minutes = static_cast<double>(monotonic_ns() - started_ns_) / 60e9;
    if (!abandoned && (step() >= last_ || !opened_.train.stop_reason.empty())) break;
    if (abandoned || interrupted()) {
      reason = kInterrupted;
      break;
    }
    if (e_.config.train.max_minutes && minutes > *e_.config.train.max_minutes) {
      reason = fmt::format("train.max_minutes ({}) passed", *e_.config.train.max_minutes);
      break;
    }
    one_step();
    committer_.check_data();
    call_hooks(Point::step_end);
    if (evaluation_due()) abandoned = !evaluate_now();
    if (step() % e_.counters.steps_per_epoch == 0 && !commit_due()) committer_.rows.state_hash(step(), hex(committer_.hash_now()));
    if (!abandoned && commit_due()) static_cast<void>(commit());
  }
  // Asked of whole runs only: the last steps of a resumed one may rightly change nothing.
  if (began_step == 0 && step() > 0 && reason != kInterrupted && parameter_fingerprint(e_) == began)
    failf(Category::numeric, "no parameter changed in the {} steps from {} to {}: the learning rate is too small for these weights, or every gradient is zero; nothing was trained",
          step() - began_step, began_step, step());
  call_hooks(Point::run_end);
  while (step() != committer_.committed() && !commit()) {}   // commit() throws at the third failure

  TrainResult out;
  const bool complete = !abandoned && (step() >= e_.counters.total_steps || !opened_.train.stop_reason.empty());
  out.status = complete ? RunStatus::finished : RunStatus::stopped;
  out.exit_code = reason == kInterrupted ? exit_code(Category::interrupted) : 0;
  if (complete) reason = opened_.train.stop_reason;
  else if (reason.empty()) reason = fmt::format("train.max_steps ({}) reached", last_);
  committer_.finish(out.status, reason, epoch(), segment_end(out.exit_code), observer_);
  out.run = opened_.row.id;
  out.reason = reason;
  out.step = step();
  out.epoch = epoch();
  out.state_hash = hex(committer_.state_digest());
  out.chain_hash = hex(committer_.head().h);
  return out;
} catch (Error& e) {
  fail_run(e);
  if (e.category == Category::numeric) e.message += "\n  " + committer_.what_stands();
  throw;
}

}  // namespace

void apply_process_options(int threads, std::optional<Isa> isa) {
  set_threads(threads);
  use_isa(isa.value_or(best_isa()));
}

namespace {

/// What is legal and can hardly be meant.
void remark(const Experiment& e, Observer& observer) {
  for (const auto& optim : e.config.optims.items) {
    const auto& schedule = optim.common_as<OptimizerDef>().schedule;
    const std::int64_t warmup = schedule ? schedule.common_as<ScheduleDef>().warmup_steps : 0;
    if (warmup >= e.counters.total_steps)
      observer.said(fmt::format("the warm-up takes {} steps and the run {}: the learning rate never follows the schedule", warmup, e.counters.total_steps));
  }
}

}  // namespace

TrainResult train(const LoadedConfig& loaded, const TrainOptions& options, Observer& observer) {
  const int signals = interrupts();
  FileSystem& files = options.files != nullptr ? *options.files : real_files();
  BackgroundGit git(".");
  apply_process_options(options.threads, options.isa);
  Experiment e(loaded.config);
  make_dirs(files, options.runs_dir);
  Store store = Store::open(options.runs_dir, StoreMode::create, files);
  for (const auto& w : store.warnings()) observer.said(w);
  remark(e, observer);
  auto hasher = hash_data(e, join_path(options.runs_dir, kDigestCache));
  settle_dead_runs(store, files, observer);
  e.preflight();
  Opened opened = open_session(e, loaded, options, files, store, git.get(), *hasher, observer);
  if (opened.complete) {
    TrainResult out;
    out.run = opened.row.id;
    out.status = opened.row.status;
    out.reason = opened.row.reason;
    out.step = opened.train.step;
    out.epoch = opened.train.step / e.counters.steps_per_epoch;
    out.state_hash = hex(opened.state);
    out.chain_hash = hex(opened.head.h);
    out.already_complete = true;
    return out;
  }

  const Environment environment = capture_environment();
  SegmentRow segment;
  segment.run = opened.row.id;
  segment.pid = static_cast<std::int64_t>(getpid());
  segment.host = environment.host;
  segment.started_ns = wall_ns();
  segment.first_step = opened.train.step;
  segment.threads = pool().threads();
  segment.workers = static_cast<int>(e.config.data.loader.workers);
  segment.isa = text(current_isa());
  segment.build = environment.build;
  segment.lockstep_version = environment.lockstep_version;
  segment.git_commit = git.get().commit;
  segment.git_dirty = git.get().dirty;
  segment.environment = environment_json(environment, git.get()).dump();
  const std::int64_t id = store.begin_segment(segment);

  StartEvent start;
  start.run = opened.row.id;
  start.name = opened.row.name;
  start.directory = opened.paths.dir;
  start.step = opened.train.step;
  start.total_steps = last_step(e);
  for (const auto& t : e.state)
    if (t.kind == StateKind::parameter) start.parameters += t.tensor.numel();
  start.train_samples = e.train.dataset->size();
  start.steps_per_epoch = e.counters.steps_per_epoch;
  start.threads = segment.threads;
  start.workers = segment.workers;
  start.isa = segment.isa;
  start.resumed = opened.resumed;
  observer.started(start);

  Committer committer({files, store, opened.row.id, opened.paths, id}, e, opened.base, std::move(hasher), opened.expected, opened.head, e.config.train.checkpoint.keep);
  if (opened.resumed && !opened.commit_first) committer.set_committed(opened.train.step, opened.state);
  Trainer trainer(e, std::move(opened), committer, store, observer, id, signals);
  return trainer.run();
}

}  // namespace lockstep
