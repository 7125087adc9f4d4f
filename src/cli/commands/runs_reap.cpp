// lockstep runs reap: put right what dead processes left behind.
#include "cli/command.h"
#include "cli/run_report.h"
#include "lockstep/runtime/probe.h"

namespace lockstep {
namespace {

int run(const Args& args, Console& console) {
  FileSystem& files = real_files();
  Store store = Store::open(args.runs_dir, StoreMode::existing);
  warn_about(store, console);
  const auto results = reap(store, files, checkpoint_probe(files));
  console.result(reap_text(results), reap_json(results));
  return 0;
}

}  // namespace

extern constinit const CommandDef command_runs_reap = {
    .name = "runs reap",
    .doc = "Mark runs whose process died, add missing rows, remove empty folders",
    .about = "A run is at work as long as a process holds its lock; the kernel frees the lock at any death. No\n"
             "result is ever deleted: only folders that hold none.",
    .example = "lockstep runs reap",
    .run = run,
};

}  // namespace lockstep
