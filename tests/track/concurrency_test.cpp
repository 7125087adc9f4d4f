// Tests of the store between processes, and of failures in the middle of a commit.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockstep/base/error.h"
#include "lockstep/base/fault_files.h"
#include "lockstep/track/store.h"
#include "temp_folder.h"
#include "track/sample.h"
#include "track/sqlite.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Runs f in a child process; gives its exit status.
pid_t spawn(const std::function<void()>& f) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 0;
  try {
    f();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 1;
  } catch (...) {
    code = 2;
  }
  ::_exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("processes that create and fill one store together lose nothing") {
  const TempFolder dir;
  constexpr int kProcesses = 4, kCommits = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(spawn([&, p] {
      Store store = Store::open(dir / "runs", StoreMode::create);
      const std::string id = "20240501-12000" + std::to_string(p) + "-abcd";
      store.create_run(sample_run(id, "mlp", p));
      const auto segment = store.begin_segment(sample_segment(id, 0));
      RowLog log;
      std::vector<ArtifactRow> artifacts;
      for (int i = 1; i <= kCommits; ++i) {
        log_steps(log, (i - 1) * 10, i * 10);
        store.commit_rows(id, segment, i * 10, log);
        store.commit_checkpoint(id, sample_commit(i * 10, artifacts));
      }
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  const Store store = Store::open(dir / "runs", StoreMode::existing);
  CHECK(store.runs().size() == kProcesses);
  for (const RunRow& run : store.runs()) {
    CHECK(run.step == kCommits * 10);
    CHECK(store.metrics(run.id, "train/loss").size() == kCommits * 10);
    CHECK(curves(store, run.id) == curves(store, store.runs()[0].id));
  }
}

TEST_CASE("a process killed while it writes leaves whole commits only") {
  const TempFolder dir;
  for (int round = 0; round < 5; ++round) {
    const std::string id = "20240501-12000" + std::to_string(round) + "-abcd";
    const pid_t child = spawn([&] {
      Store store = Store::open(dir / "runs", StoreMode::create);
      store.create_run(sample_run(id, "mlp", round));
      RowLog log;
      for (std::int64_t i = 1;; ++i) {
        log_steps(log, (i - 1) * 10, i * 10);
        store.commit_rows(id, 1, i * 10, log);
      }
    });
    ::usleep(60000 + 7000 * static_cast<unsigned>(round));
    ::kill(child, SIGKILL);
    wait_for(child);
    const Store store = Store::open(dir / "runs", StoreMode::create);
    if (store.run(id)) CHECK(store.metrics(id, "train/loss").size() % 10 == 0);
  }
}

TEST_CASE("every writing method stops and fails at its transaction, and can be done again") {
  const auto work = [](Store& store, std::int64_t& done) {
    std::vector<ArtifactRow> artifacts;
    RowLog log;
    log_steps(log, 0, 6);
    const std::function<void()> steps[] = {
        [&] { store.create_run(sample_run(kRunA, "mlp", 5)); },
        [&] { store.begin_segment(sample_segment(kRunA, 0)); },
        [&] { store.commit_rows(kRunA, 1, 6, log); },
        [&] { store.commit_checkpoint(kRunA, sample_commit(6, artifacts)); },
        [&] { store.drop_artifacts(kRunA, std::vector<std::string>{"checkpoints/kept.ckpt"}); },
        [&] {
          FinishCommit end;
          end.step = 6;
          end.epoch = 1;
          store.finish(kRunA, end);
        },
    };
    while (done < static_cast<std::int64_t>(std::size(steps))) {
      steps[done]();
      ++done;
    }
  };
  const TempFolder clean;
  std::int64_t calls = 0;
  std::string expected;
  {
    FaultFiles files(real_files(), Fault::none, 0);
    Store store = Store::open(clean / "runs", StoreMode::create, files);
    const std::int64_t before = files.calls();
    std::int64_t done = 0;
    work(store, done);
    calls = files.calls() - before;
    expected = curves(store, kRunA);
    CHECK(calls == 6);
  }
  for (std::int64_t at = 1; at <= calls; ++at) {
    const TempFolder dir;
    { Store::open(dir / "runs", StoreMode::create); }
    FaultFiles counting(real_files(), Fault::none, 0);
    { Store::open(dir / "runs", StoreMode::create, counting); }
    FaultFiles stopping(real_files(), Fault::stop, counting.calls() + at);
    std::int64_t done = 0;
    {
      Store store = Store::open(dir / "runs", StoreMode::create, stopping);
      CHECK_THROWS_AS(work(store, done), Stop);
    }
    CHECK(done == at - 1);
    // The call did not happen at all: a new process does it, and the rest.
    Store store = Store::open(dir / "runs", StoreMode::create);
    work(store, done);
    CHECK(curves(store, kRunA) == expected);

    const TempFolder full;
    { Store::open(full / "runs", StoreMode::create); }
    FaultFiles failing(real_files(), Fault::io_error, counting.calls() + at);
    Store again = Store::open(full / "runs", StoreMode::create, failing);
    done = 0;
    CHECK_THROWS_AS(work(again, done), Error);
    CHECK(done == at - 1);
  }
}

TEST_CASE("rows of a failed commit stay in the log") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  RowLog log;
  log_steps(log, 0, 6);
  const std::size_t before = log.size();
  CHECK_THROWS_AS(store.commit_rows(kRunA, 1, 6, log), Error);  // there is no such run
  CHECK(log.size() == before);
  store.create_run(sample_run(kRunA, "mlp", 5));
  store.commit_rows(kRunA, 1, 6, log);
  CHECK(store.metrics(kRunA).size() == before);
  log_steps(log, 6, 9);
  log.drop_after(7);
  CHECK(log.size() == 1);
}
