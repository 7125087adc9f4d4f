// lockstep runs reindex: rebuild the store from the run folders.
#include "cli/command.h"
#include "cli/run_report.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/runtime/probe.h"

namespace lockstep {
namespace {

int run(const Args& args, Console& console) {
  FileSystem& files = real_files();
  if (!files.exists(args.runs_dir)) failf(Category::data, "there is no folder {}: say where the runs are with --runs-dir (or LOCKSTEP_RUNS)", quote(args.runs_dir));
  Store store = Store::open(args.runs_dir, StoreMode::create);
  warn_about(store, console);
  const auto results = reindex(store, files, checkpoint_probe(files));
  console.result(reap_text(results), reap_json(results));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_runs_reindex = {
    .name = "runs reindex",
    .doc = "Put back the rows of run folders that the database does not know",
    .about = "For a database that was lost or damaged. Curves are not in the folders and stay lost; runs can be\n"
             "resumed.",
    .example = "lockstep runs reindex",
    .run = run,
};

}  // namespace lockstep
