// lockstep train: the main job.
#include "cli/command.h"
#include "cli/load.h"
#include "cli/run_report.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/signals.h"
#include "lockstep/base/text.h"
#include "lockstep/runtime/train.h"
#include "lockstep/term/progress.h"
#include "lockstep/term/text_width.h"

namespace lockstep {
namespace {

/// Hands a run's events to the progress display on stderr.
class ProgressObserver final : public Observer {
 public:
  explicit ProgressObserver(const Console& console) : quiet_(console.quiet()), progress_(console.err(), inspect_terminal(console.err()), console.quiet()) {}
  void started(const StartEvent& s) override {
    if (quiet_) return;
    progress_.say(fmt::format("run {} ({}): {} parameters, {} training samples, {} steps per epoch, {} {}, {} workers, {}", s.run, s.name, s.parameters,
                              s.train_samples, s.steps_per_epoch, s.threads, s.threads == 1 ? "thread" : "threads", s.workers, s.isa));
    if (s.resumed) progress_.say(fmt::format("resumed at step {} of {}", s.step, s.total_steps));
  }
  [[nodiscard]] std::int64_t step_interval_ns() const override { return progress_.step_interval_ns(); }
  void stepped(const StepEvent& e) override {
    progress_.step({e.step, e.total_steps, e.epoch + 1, e.total_epochs, e.loss, e.lr, e.samples_per_s}, e.logged, monotonic_ns());
  }
  void evaluated(std::int64_t step, std::int64_t, const Evaluation& e) override {
    std::vector<std::pair<std::string, double>> values;
    for (const auto& m : e.metrics) values.emplace_back(m.name, m.value);
    progress_.evaluated(step, values);
  }
  void committed(const CommitEvent& e) override { progress_.committed(e.step, e.best); }
  void said(std::string_view line) override { progress_.say(line); }

 private:
  bool quiet_;
  Progress progress_;
};

std::string summary(const TrainResult& r, const Json& json) {
  std::string out = fmt::format("{} {} at step {} (epoch {}){}\n", r.run, r.already_complete ? "is already complete," : text(r.status), r.step, r.epoch,
                                r.reason.empty() ? std::string() : ": " + r.reason);
  for (const auto& [name, m] : json.at("metrics").members())
    if (!name.starts_with("train/"))
      out += fmt::format("  {:<20} {}  (best {} at step {})\n", name, number_text(m.at("last").number()), number_text(m.at("best").number()), m.at("best_step").integer());
  return out + "state " + r.state_hash + "\n";
}

/// A child needs a parent: what --resume alone would start is no child of anything.
void require_parent(const std::string& runs_dir, const std::string& name) {
  if (real_files().exists(store_path(runs_dir)) && !Store::open(runs_dir, StoreMode::existing).runs(name).empty()) return;
  failf(Category::usage, "--fork goes on from a run, and no run in {} is called {}; name the parent with --resume=RUN, or leave --fork out to start a run",
        quote(runs_dir), quote(name));
}

/// SQLite goes on writing to a database that somebody removes; the folder of the run has everything but the curves.
[[noreturn]] void lost_store(const std::string& runs_dir, const std::string& run) {
  failf(Category::data, "the run store {} was removed or replaced while run {} trained. Its folder is whole: `lockstep runs reindex --runs-dir {}` puts the "
                        "run back (curves are lost, training is not)", quote(store_path(runs_dir)), run, runs_dir);
}

int run(const Args& args, Console& console) {
  watch_interrupts();
  TrainOptions options;
  options.runs_dir = args.runs_dir;
  options.threads = static_cast<int>(args.integer("--threads", 1, 256).value_or(0));
  if (const auto word = args.value("--isa")) options.isa = parse_isa(*word);
  options.fork = args.has("--fork");
  options.fresh = args.has("--new");
  if (args.has("--resume")) {
    const std::string which = args.value("--resume").value_or("auto");
    options.resume = which == "auto" ? ResumeMode::automatic : ResumeMode::run;
    options.resume_run = which;
  }
  if (options.fresh && options.fork) fail(Category::usage, "--new starts a run of its own, --fork a child of another; give one of them");
  if (options.fresh && args.has("--resume"))
    failf(Category::usage, "--new starts a new run, --resume{} continues one; give one of them", options.resume == ResumeMode::run ? "=" + options.resume_run : "");
  const auto overrides = args.rest("OVERRIDE");
  const LoadedConfig loaded = load_config(args.positional("CONFIG"), overrides, console);
  if (options.fork && options.resume != ResumeMode::run) require_parent(options.runs_dir, loaded.config.name);
  TrainResult result;
  {
    ProgressObserver observer(console);
    result = train(loaded, options, observer);
  }
  if (!real_files().exists(store_path(options.runs_dir))) lost_store(options.runs_dir, result.run);
  const Store store = Store::open(options.runs_dir, StoreMode::existing);
  const auto row = store.run(result.run);
  if (!row) lost_store(options.runs_dir, result.run);
  Json json = run_json(store, *row);
  json.set("already_complete", result.already_complete);
  console.result(summary(result, json), json);
  return result.exit_code;
}

constexpr std::string_view kIsas[] = {"scalar", "avx2", "avx512"};
constexpr PositionalDef kPositionals[] = {{"CONFIG", "the YAML file that says what to train"}, {"OVERRIDE", "path=value", false, true}};
constexpr OptionDef kOptions[] = {
    {.name = "--resume", .value_name = "RUN", .doc = "continue the newest run of this name, or RUN; starts one when there is none", .fallback = "auto", .kind = OptionKind::optional_value},
    {.name = "--fork", .value_name = {}, .doc = "go on with this config as a child of the newest run of this name, or of --resume=RUN", .kind = OptionKind::flag},
    {.name = "--new", .value_name = {}, .doc = "start a new run whatever is there", .kind = OptionKind::flag},
    {.name = "--threads", .value_name = "N", .doc = "threads to compute with (default: all); never changes a bit"},
    {.name = "--isa", .value_name = "SET", .doc = "instruction set to compute with (default: the widest); never changes a bit", .choices = kIsas},
};

}  // namespace

extern constinit const CommandDef command_train = {
    .name = "train",
    .doc = "Train what a config says",
    .about = "Ctrl-C or SIGTERM finishes the step, writes a checkpoint and exits with 130; --resume continues from there.",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep train configs/fashion_mlp.yaml seed=7 train.epochs=1 data.loader.workers=2",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
