// lockstep verify: the same run under other threads, workers, instruction sets and interruptions.
#include "cli/command.h"
#include "cli/load.h"
#include "lockstep/audit/verify.h"
#include "lockstep/track/store.h"
#include "lockstep/base/error.h"
#include "lockstep/base/signals.h"

namespace lockstep {
namespace {

Json variant_json(const VariantResult& v) {
  return Json::object()
      .set("threads", v.variant.threads)
      .set("workers", v.variant.workers)
      .set("isa", text(v.variant.isa))
      .set("shards_per_pass", v.variant.shards_per_pass)
      .set("resume_at", v.variant.resume_at ? Json(*v.variant.resume_at) : Json())
      .set("state_hash", v.state_hash)
      .set("chain_hash", v.chain_hash)
      .set("equal", v.equal)
      .set("difference", v.difference.empty() ? Json() : Json(v.difference));
}

/// `reference`: the first repetition of a config, with which the others are compared.
std::string variant_text(const VariantResult& v, bool reference) {
  const auto& n = v.variant;
  const std::string verdict = !v.equal ? "DIFFERS at " + v.difference : reference ? "reference" : "equal";
  return fmt::format("threads {}  workers {}  {:<6}  shards per pass {}  {:<12}  {}  {}", n.threads, n.workers, text(n.isa), n.shards_per_pass,
                     n.resume_at ? fmt::format("resumed at {}", *n.resume_at) : "", v.state_hash.substr(0, 16), verdict);
}

/// Of the first variant that is not equal, in the words of variant_text().
std::string first_difference(const VerifyResult& r) {
  const auto at = std::ranges::find(r.variants, false, &VariantResult::equal);
  return at == r.variants.end() ? std::string() : variant_text(*at, false);
}

int run(const Args& args, Console& console) {
  watch_interrupts();
  const std::string target = args.positional("RUN");
  const auto overrides = args.rest("OVERRIDE");
  const std::int64_t steps = args.integer("--steps", 1, std::int64_t{1} << 53).value_or(0);
  bool reference = false;
  const auto progress = [&](const VariantResult& v) {
    console.info(variant_text(v, reference));
    reference = false;
  };
  VerifyResult r;
  if (names_config(target)) {
    reference = true;
    r = verify_config(load_config(target, overrides, console), steps, {}, progress);
  } else {
    const Store store = Store::open(args.runs_dir, StoreMode::existing);
    r = verify_run(args.runs_dir, store.find_run(target), overrides, steps, {}, progress);
  }
  Json variants = Json::array();
  for (const auto& v : r.variants) variants.push(variant_json(v));
  Json out = Json::object().set("equal", r.equal).set("steps", r.steps).set("reference", r.reference).set("state_hash", r.state_hash).set("variants", std::move(variants));
  console.result(r.equal ? fmt::format("verified: {} repetitions of {} steps gave the chain of {}; state {}", r.variants.size(), r.steps, r.reference, r.state_hash)
                         : fmt::format("NOT equal to {}: {}", r.reference, first_difference(r)), out);
  return r.equal ? 0 : exit_code(Category::mismatch);
}

constexpr PositionalDef kPositionals[] = {{"RUN", "a run (id, unique prefix, name, `last`) or a config file"}, {"OVERRIDE", "path=value; of a recorded run only where its data lie", false, true}};
constexpr OptionDef kOptions[] = {{.name = "--steps", .value_name = "N", .doc = "repeat only the first N steps (default: all)"}};

}  // namespace

extern constinit const CommandDef command_verify = {
    .name = "verify",
    .doc = "Repeat a run under other threads, workers, instruction sets and interruptions",
    .about = "Every repetition must give the same chain of step hashes. Exit code 6 and the first step that differs when one\n"
             "does not.",
    .positionals = kPositionals,
    .options = kOptions,
    .example = "lockstep verify configs/fashion_mlp.yaml --steps 200",
    .run = run,
    .overrides = true,
};

}  // namespace lockstep
