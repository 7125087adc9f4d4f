// kill -9 at random moments of the real program; resuming must end where the uninterrupted run ends.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <set>

#include "lockstep/base/clock.h"
#include "lockstep/base/text.h"
#include "lockstep/track/run_dir.h"
#include "lockstep/track/store.h"
#include "paths.h"
#include "temp_folder.h"

extern char** environ;

using namespace lockstep;
using namespace lockstep::test;

namespace {

constexpr std::int64_t kInterval = 10;   // steps between checkpoints: commits take most of the time
constexpr std::string_view kConfig = R"(name: killed
seed: 3
data:
  train: {name: synthetic, size: 2048, shape: [16]}
  val: {name: synthetic, size: 128, shape: [16]}
  loader: {batch_size: 32}
model: {name: mlp, hidden_features: [48]}
loss: cross_entropy
optim: {name: adamw, lr: 1e-3}
metrics: [accuracy]
train: {epochs: 30, log_every: 1, eval_every_steps: 64, checkpoint: {every_steps: 10, monitor: val/loss, keep: 2}}
)";

struct Process {
  pid_t pid = 0;
  std::string log;
};

Process start(const std::string& config, const std::string& runs, int threads, const std::string& log) {
  std::vector<std::string> words = {std::string(kBinary), "train", config, "--runs-dir", runs, "--resume=auto", "--threads", text(threads)};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  Process p{0, log};
  const int failed = ::posix_spawn(&p.pid, words[0].c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(failed == 0);
  return p;
}

int wait_for(const Process& p) {
  int status = 0;
  ::waitpid(p.pid, &status, 0);
  return status;
}

/// The last "step N/" that a process showed, and whether it showed a checkpoint after it; -1: none.
struct Shown {
  std::int64_t step = -1;
  bool committed = false;
};
Shown shown(const std::string& log) {
  const std::string all = real_files().read_file(log);
  Shown out;
  for (std::size_t end = all.rfind('/'); end != std::string::npos && end > 0; end = all.rfind('/', end - 1)) {
    const std::size_t begin = all.rfind("  step ", end);
    if (begin == std::string::npos) break;
    if (const auto n = parse_int(all.substr(begin + 7, end - begin - 7))) {
      out.step = *n;
      out.committed = all.find("checkpoint  step " + text(*n), end) != std::string::npos;
      break;
    }
  }
  return out;
}

struct Final {
  std::string state, chain;
  std::vector<std::string> rows;
};
Final result_of(const std::string& runs) {
  const Store store = Store::open(runs, StoreMode::existing);
  const auto all = store.runs("killed");
  REQUIRE(all.size() == 1);
  CHECK(all.front().status == RunStatus::finished);
  Final out{all.front().state_hash, real_files().read_file(RunPaths{runs + "/" + all.front().id}.chain()), {}};
  for (const auto& m : store.metrics(all.front().id))
    out.rows.push_back(fmt::format("{} {} {} {:016x}", m.name, m.step, m.epoch, std::bit_cast<std::uint64_t>(m.value)));
  return out;
}

/// Milliseconds in [low, high); the seed is printed, though the machine decides what a moment hits.
struct Moments {
  std::uint64_t state = static_cast<std::uint64_t>(wall_ns());
  std::int64_t next(std::int64_t low, std::int64_t high) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(high - low));
  }
};

void kill_and_resume(int wanted) {
  const TempFolder folder;
  const std::string config = folder / "killed.yaml";
  {
    const auto file = real_files().open(config, OpenMode::truncate);
    file->write(kConfig);
    file->close();
  }
  const std::int64_t began = monotonic_ns();
  REQUIRE(wait_for(start(config, folder / "reference", 2, folder / "log")) == 0);
  const Final reference = result_of(folder / "reference");
  const double whole_s = static_cast<double>(monotonic_ns() - began) * 1e-9;

  Moments moments;
  int kills = 0, in_commit = 0, restarts = 0, from_checkpoint = 0, runs = 0, before_work = 0;
  std::int64_t most_repeated = 0;
  while (kills < wanted) {
    const std::string where = folder / fmt::format("runs{}", ++runs);
    std::int64_t reached = -1;            // by the process before; -1: it did not step
    bool ended = false;
    std::set<std::int64_t> seen;          // segments that were looked at
    for (int life = 0; !ended; ++life) {
      const Process p = start(config, where, 1 + (kills + life) % 3, folder / "log");
      if (kills < wanted) {
        ::usleep(static_cast<useconds_t>(moments.next(5, 450) * 1000));
        ::kill(p.pid, SIGKILL);
      }
      const int status = wait_for(p);
      const bool killed = WIFSIGNALED(status);
      ended = !killed;
      if (ended) REQUIRE(WEXITSTATUS(status) == 0);
      kills += killed ? 1 : 0;
      const Shown last = shown(p.log);
      if (killed && last.step >= 0 && last.step % kInterval == 0 && !last.committed) ++in_commit;
      // What the store says of this life: where it took up the run.
      if (!real_files().exists(where + "/lockstep.db")) {
        ++before_work;
        continue;
      }
      const Store store = Store::open(where, StoreMode::existing);
      const auto all = store.runs("killed");
      const auto segments = all.empty() ? std::vector<SegmentRow>{} : store.segments(all.front().id);
      if (segments.empty() || !seen.insert(segments.back().id).second) {
        ++before_work;
        continue;
      }
      const SegmentRow& s = segments.back();
      if (life > 0) {
        ++restarts;
        from_checkpoint += s.first_step > 0 ? 1 : 0;
        if (reached >= 0) most_repeated = std::max(most_repeated, reached - s.first_step);
        if (segments.size() > 1) CHECK(s.first_step >= segments[segments.size() - 2].last_step);
      }
      reached = std::max(reached, std::max(last.step, s.first_step));
    }
    const Final r = result_of(where);
    CHECK(r.state == reference.state);
    CHECK(r.chain == reference.chain);
    CHECK(r.rows == reference.rows);
  }
  const std::string report = fmt::format(
      "{} kills of live processes over {} runs on 1 to 3 threads (uninterrupted: {:.1f} s); {} fell into a commit, {} before the run was taken up; "
      "{} of {} restarts went on from a checkpoint; at most {} steps were repeated (checkpoints every {}); every hash, chain and metric row ({}) is that of the uninterrupted run",
      kills, runs, whole_s, in_commit, before_work, from_checkpoint, restarts, most_repeated, kInterval, reference.rows.size());
  MESSAGE(report);
  CHECK(most_repeated <= kInterval);
  CHECK(from_checkpoint * 10 >= restarts * 8);
}

}  // namespace

TEST_CASE("kill -9, eight times") { kill_and_resume(8); }

TEST_SUITE("slow") {
  TEST_CASE("kill -9, fifty times") { kill_and_resume(50); }
}
