// lockstep eval: the metrics of a run's weights, compared with what the run logged.
#include <chrono>
#include <thread>

#include "cli/command.h"
#include "cli/load.h"
#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/signals.h"
#include "lockstep/base/text.h"
#include "lockstep/runtime/eval_run.h"
#include "lockstep/runtime/train.h"
#include "lockstep/track/run_dir.h"

namespace lockstep {
namespace {

Json report_json(const EvalReport& r) {
  Json metrics = Json::object(), logged = Json::object();
  for (const auto& m : r.evaluation.metrics) metrics.set(m.name, m.value);
  for (const auto& l : r.logged) logged.set(l.name, l.value ? Json(*l.value) : Json());
  const auto matches = r.matches_logged();
  return Json::object()
      .set("run", r.run)
      .set("checkpoint", r.checkpoint)
      .set("step", r.step)
      .set("samples", r.evaluation.samples)
      .set("metrics", std::move(metrics))
      .set("logged", std::move(logged))
      .set("state_hash", r.state_hash)
      .set("matches_logged", matches ? Json(*matches) : Json());
}

std::string report_text(const EvalReport& r) {
  std::string out = fmt::format("{} at step {}, {} samples\n", r.run, r.step, r.evaluation.samples);
  for (std::size_t i = 0; i < r.logged.size(); ++i) {
    const auto& l = r.logged[i];
    const std::string verdict = !r.not_compared.empty() ? "" : !l.value ? "not logged at this step" : l.equal ? "as logged" : fmt::format("LOGGED AS {}", *l.value);
    out += fmt::format("  {:<20} {:<22} {}\n", l.name, text(r.evaluation.metrics[i].value), verdict);
  }
  if (!r.not_compared.empty()) out += "not compared with the log: " + r.not_compared + "\n";
  return out + "state " + r.state_hash + "\n";
}

/// evaluate_run(); a run that is at work may replace the checkpoint at the very moment, and is then asked again.
EvalReport evaluate_patiently(Experiment& e, Store& store, const RunRow& row, const std::string& which, const std::string& split, bool changed) {
  constexpr std::int64_t kPatienceNs = 3'000'000'000;
  const std::int64_t start = monotonic_ns();
  while (true) {
    try {
      return evaluate_run(e, store, row, which, split, changed);
    } catch (const Error& error) {
      if (error.category != Category::data) throw;
      const auto now = store.run(row.id);
      if (!now || now->status != RunStatus::running || monotonic_ns() - start > kPatienceNs) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

int run(const Args& args, Console& console) {
  watch_interrupts();
  const std::string target = args.positional("RUN");
  const auto overrides = args.rest("OVERRIDE");
  std::optional<Isa> isa;
  if (const auto word = args.value("--isa")) isa = parse_isa(*word);
  apply_process_options(static_cast<int>(args.integer("--threads", 1, 256).value_or(0)), isa);

  Store store = Store::open(args.runs_dir, StoreMode::existing);
  const bool is_config = names_config(target);
  LoadedConfig loaded;
  RunRow row;
  if (is_config) {
    loaded = load_config(target, overrides, console);
  } else {
    row = store.find_run(target);
    loaded = load_config(config_of(real_files(), {join_path(args.runs_dir, row.id)}, row.id), overrides, console);
  }
  Experiment e(loaded.config);
  if (is_config) row = find_run_of(e, store);
  const EvalReport r = evaluate_patiently(e, store, row, args.value("--checkpoint").value_or("last"), args.value("--split").value_or("val"),
                                            !is_config && !overrides.empty());
  console.result(report_text(r), report_json(r));
  if (r.matches_logged() == false) {
    console.warn("the weights do not give the values that were logged: the code, the data or the record changed");
    return exit_code(Category::mismatch);
  }
  return 0;
}

constexpr std::string_view kIsas[] = {"scalar", "avx2", "avx512"};
constexpr std::string_view kSplits[] = {"val", "test"};
constexpr PositionalDef kPositionals[] = {{"RUN", "a run id, unique prefix, run name, `last`, or a config file (the newest run that was trained with it)"}, {"OVERRIDE", "path=value", false, true}};
constexpr OptionDef kOptions[] = {
    {.name = "--checkpoint", .value_name = "WHICH", .doc = "last, best, or the step of a kept checkpoint", .fallback = "last"},
    {.name = "--split", .value_name = "SPLIT", .doc = "val or test", .fallback = "val", .choices = kSplits},
    {.name = "--threads", .value_name = "N", .doc = "threads to compute with (default: all)"},
    {.name = "--isa", .value_name = "SET", .doc = "instruction set to compute with (default: the widest)", .choices = kIsas},
};

}  // namespace

extern constinit const CommandDef command_eval = {
    .name = "eval",
    .doc = "Compute a run's metrics from its weights and compare them with the log",
    .about = "Metrics are computed without looking at the logged ones; then both are compared bit for bit. Exit code 6 when\n"
             "they differ. With overrides that make another experiment of the run nothing is compared.",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep eval last --checkpoint best",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
