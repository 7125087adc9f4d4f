// Resuming, forking, stopping: which run goes on, from where, and what refuses.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/signals.h"
#include "lockstep/runtime/probe.h"
#include "runtime/runs.h"
#include "track/sqlite.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Everything below a folder with its contents.
std::map<std::string, std::string> contents(const std::string& folder) {
  std::map<std::string, std::string> out;
  for (const auto& f : std::filesystem::recursive_directory_iterator(folder))
    if (f.is_regular_file()) out[f.path().string()] = real_files().read_file(f.path().string());
  return out;
}

}  // namespace

TEST_CASE("a damaged or lost last.ckpt: the newest retained checkpoint and an event") {
  const Outcome expected = reference();
  bool gone = false;
  SUBCASE("damaged") {}
  SUBCASE("lost") { gone = true; }
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  if (gone) real_files().unlink(paths(place, part.run).last());
  else flip_byte(paths(place, part.run).last());
  // The copy of step 4 under its own name is whole: it is the newest.
  Recorder seen;
  const auto r = go(place.config(), place, seen, ResumeMode::automatic);
  CHECK(r.run == part.run);
  CHECK(seen.started_at == 4);
  CHECK(seen.heard("continuing from"));
  check_same(place, r.run, expected);
  const auto events = store_of(place).events(r.run);
  CHECK(std::ranges::any_of(events, [](const EventRow& e) { return e.kind == "checkpoint damaged" && e.step == 4; }));
}

TEST_CASE("last.ckpt and the newest retained one are damaged: the one before") {
  const Outcome expected = reference();
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  flip_byte(paths(place, part.run).last());
  flip_byte(paths(place, part.run).kept(4));
  flip_byte(paths(place, part.run).best());
  Recorder seen;
  const auto r = go(place.config(), place, seen, ResumeMode::automatic);
  CHECK(seen.started_at == 2);
  check_same(place, r.run, expected);
  CHECK(outcome(place, r.run).files == expected.files);
}

TEST_CASE("no checkpoint can be read: exit 3, nothing is deleted") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const RunPaths p = paths(place, part.run);
  for (const auto& name : real_files().list(p.checkpoints())) flip_byte(p.checkpoints() + "/" + name);
  put(p.last() + ".tmp", "torn");
  const auto before = contents(p.dir);
  const Error e = error_of([&] { go(place.config(), place, ResumeMode::automatic); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("is damaged") != std::string::npos);
  CHECK(e.message.find("Nothing was deleted") != std::string::npos);
  CHECK(contents(p.dir) == before);
}

TEST_CASE("chain and checkpoint disagree: exit 6") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const std::string chain = paths(place, part.run).chain(), whole = real_files().read_file(chain);
  const std::size_t record = whole.size() / 5;
  std::string changed = whole;
  changed[4 * record + 80] ^= 1;   // within the hash of record 4
  for (const std::string& bytes : {whole.substr(0, 4 * record), whole.substr(0, 4 * record + 40), changed, std::string()}) {
    if (bytes.empty()) real_files().unlink(chain);
    else put(chain, bytes);
    const Error e = error_of([&] { go(place.config(), place, ResumeMode::automatic); });
    CHECK(e.category == Category::mismatch);
    CHECK(e.message.find(bytes.size() == whole.size() ? "record 4 of" : "but the checkpoint") != std::string::npos);
  }
  put(chain, whole + "torn record");   // longer is what a crash between 2 and 5 leaves
  check_same(place, go(place.config(), place, ResumeMode::automatic).run, reference());
}

TEST_CASE("a lost database is rebuilt from the folders") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  for (const char* name : {"/lockstep.db", "/lockstep.db-wal", "/lockstep.db-shm"}) real_files().unlink(place.runs() + name);
  {
    Store store = Store::open(place.runs(), StoreMode::create);
    const auto done = reindex(store, real_files(), checkpoint_probe(real_files()));
    REQUIRE(done.size() == 1);
    const RunRow row = *store.run(part.run);
    CHECK(row.step == 4);
    CHECK(row.epoch == 1);
    CHECK(row.name == "tiny");
    CHECK(store.artifacts(part.run).size() == 5);
  }
  Recorder seen;
  const auto r = go(place.config(), place, seen, ResumeMode::automatic);
  CHECK(r.run == part.run);
  CHECK(seen.started_at == 4);
  CHECK(r.chain_hash == reference().chain);
  for (const auto& m : store_of(place).summaries(r.run))
    if (m.name == "val/accuracy") CHECK(m.direction == Direction::higher);
}

TEST_CASE("a lost database is noticed by the next start itself") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  std::filesystem::remove(place.runs() + "/lockstep.db");
  Recorder seen;
  CHECK(go(place.config(), place, seen, ResumeMode::automatic).run == part.run);
  CHECK(seen.heard("had no row"));
}

TEST_CASE("an empty folder goes, a folder without a row is put in, a folder that is gone starts anew") {
  const Place place;
  const auto done = go(place.config(), place);
  real_files().mkdir(place.runs() + "/20240501-120000-abcd");
  Recorder seen;
  CHECK(go(place.config(), place, seen, ResumeMode::automatic).already_complete);
  CHECK(run_folders(place) == std::vector<std::string>{done.run});
  CHECK(seen.heard("20240501-120000-abcd"));
  std::filesystem::remove_all(place.runs() + "/" + done.run);
  Recorder anew;
  const auto r = go(place.config(), place, anew, ResumeMode::automatic);
  CHECK(r.run != done.run);
  CHECK(anew.heard("is gone"));
  check_same(place, r.run, reference());
}

TEST_CASE("the model is written, the status is still running: the end is recorded again") {
  const Place place;
  const auto done = go(place.config(), place);
  const std::string model = real_files().read_file(paths(place, done.run).model());
  store_of(place).set_status(done.run, RunStatus::running);
  Recorder seen;
  const auto r = go(place.config(), place, seen, ResumeMode::automatic);
  CHECK(r.run == done.run);
  CHECK_FALSE(r.already_complete);
  CHECK(store_of(place).run(r.run)->status == RunStatus::finished);
  CHECK(real_files().read_file(paths(place, r.run).model()) == model);
  check_same(place, r.run, reference());
}

TEST_CASE("another process writes to the database for a while: the commit waits") {
  const Place place;
  const LoadedConfig config = place.config();
  std::thread writer;
  Recorder seen;
  seen.on_step = [&](std::int64_t step) {
    if (step != 3) return;
    auto db = std::make_shared<track::Database>(place.runs() + "/lockstep.db", track::Database::Access::write);
    auto transaction = std::make_shared<track::Transaction>(*db);
    writer = std::thread([db, transaction]() mutable {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      transaction.reset();
    });
  };
  const auto r = go(config, place, seen);
  writer.join();
  CHECK(seen.lines.empty());
  check_same(place, r.run, reference());
}

TEST_SUITE("slow") {
  TEST_CASE("another process holds the database longer than a commit waits: tried again at the next") {
    const Place place;
    const LoadedConfig config = place.config();
    pid_t child = 0;
    std::int64_t held_until = 0;
    Recorder seen;
    seen.on_step = [&](std::int64_t step) {
      if (step != 3) return;
      int ready[2];
      REQUIRE(::pipe(ready) == 0);
      held_until = monotonic_ns() + 12'000'000'000;
      child = ::fork();
      if (child == 0) {
        track::Database db(place.runs() + "/lockstep.db", track::Database::Access::write);
        const track::Transaction transaction(db);
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
        while (monotonic_ns() < held_until) ::usleep(50000);
        ::_exit(0);
      }
      char byte = 0;
      CHECK(::read(ready[0], &byte, 1) == 1);
      ::close(ready[0]);
      ::close(ready[1]);
    };
    const auto r = go(config, place, seen);
    ::waitpid(child, nullptr, 0);
    CHECK(seen.heard("the commit of step 4 failed and is tried again at the next one"));
    CHECK(seen.heard("it is locked"));
    CHECK(seen.commits == std::vector<std::int64_t>{2, 6});
    check_same(place, r.run, reference());
  }
}

TEST_CASE("the same identity: continued, then already complete") {
  const Outcome expected = reference();
  const Place place;
  const auto part = go(place.config({"train.max_steps=3"}), place);
  CHECK(part.status == RunStatus::stopped);
  CHECK(part.exit_code == 0);
  CHECK(part.reason == "train.max_steps (3) reached");
  CHECK(go(place.config({"train.max_steps=3"}), place, ResumeMode::automatic).already_complete);
  Recorder seen;
  const auto r = go(place.config({"data.loader.workers=2", "train.checkpoint.every_steps=3", "train.shards_per_pass=2"}), place, seen, ResumeMode::automatic);
  CHECK(r.run == part.run);
  CHECK(seen.started_at == 3);
  CHECK(r.status == RunStatus::finished);
  check_same(place, r.run, expected);
  const auto again = go(place.config(), place, ResumeMode::automatic);
  CHECK(again.already_complete);
  CHECK(again.state_hash == expected.state);
  CHECK(again.exit_code == 0);
}

TEST_CASE("another identity: refused while unfinished, with the difference; started anew when finished") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  for (const ResumeMode mode : {ResumeMode::automatic, ResumeMode::run}) {
    Recorder seen;
    const Error e = error_of([&] { go(place.config({"optim.lr=0.02"}), place, seen, mode, nullptr, "last"); });
    CHECK(e.category == Category::usage);
    CHECK(e.message.find("optim.lr: ") != std::string::npos);
    CHECK(e.message.find("0.01 there, ") != std::string::npos);
    CHECK(e.message.find("--fork") != std::string::npos);
    CHECK(e.message.find("--new") != std::string::npos);
  }
  const auto finished = go(place.config(), place, ResumeMode::automatic);
  const auto other = go(place.config({"optim.lr=0.02"}), place, ResumeMode::automatic);
  CHECK(other.run != finished.run);
  Recorder seen;
  CHECK(train(place.config({"optim.lr=0.02"}), {.runs_dir = place.runs(), .resume = ResumeMode::automatic, .fresh = true, .threads = 1}, seen).run != other.run);
}

TEST_CASE("a longer horizon: continues under a constant schedule, refused where the schedule reads it") {
  {
    const Place place;
    const auto part = go(place.config(), place);
    Recorder seen;
    const auto r = go(place.config({"train.epochs=4"}), place, seen, ResumeMode::automatic);
    CHECK(r.run == part.run);
    CHECK(seen.started_at == 6);
    CHECK(r.step == 12);
    check_same(place, r.run, reference({"train.epochs=4"}));
    const auto events = store_of(place).events(r.run);
    CHECK(std::ranges::any_of(events, [](const EventRow& e) { return e.kind == "horizon" && e.text == "train.epochs: 2 -> 4"; }));
  }
  const Place place;
  const std::string cosine = "optim.schedule={name: cosine}";
  const auto part = go(place.config({cosine, "train.max_steps=4"}), place);
  const Error e = error_of([&] { go(place.config({cosine, "train.epochs=4"}), place, ResumeMode::automatic); });
  CHECK(e.category == Category::usage);
  CHECK(e.message.find("train.epochs: 2 there, 4 now") != std::string::npos);
}

TEST_CASE("a data file that changed between start and resume: exit 3, the checkpoint stands") {
  const Place place;
  const IdxData data(place);
  const std::string& yaml = data.yaml;
  const auto part = go(place.config({"train.max_steps=4"}, yaml), place);
  data.set("train", 24, 1);   // same sizes, other contents
  const Error e = error_of([&] { go(place.config({}, yaml), place, ResumeMode::automatic); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("the data files are no longer those that the run began with") != std::string::npos);
  CHECK(store_of(place).run(part.run)->step == 4);
  data.set("t10k", 13, 0);    // another size is seen before anything runs
  const Error sizes = error_of([&] { go(place.config({}, yaml), place, ResumeMode::automatic); });
  CHECK(sizes.category == Category::usage);
  CHECK(sizes.message.find("data.val.files") != std::string::npos);
  data.set("train", 24, 0);
  data.set("t10k", 12, 0);
  const auto r = go(place.config({}, yaml), place, ResumeMode::automatic);
  CHECK(r.run == part.run);
  CHECK(r.status == RunStatus::finished);
}

TEST_CASE("a run that another process works on") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const FileLock held = lock_run(paths(place, part.run));
  const Error e = error_of([&] { go(place.config(), place, ResumeMode::automatic); });
  CHECK(e.category == Category::usage);
  CHECK(e.message.find("is at work in another process (pid ") != std::string::npos);
}

TEST_CASE("a signal: 130, a checkpoint, and the resumed run is the same") {
  const Outcome expected = reference();
  watch_interrupts();
  for (const int signal : {SIGINT, SIGTERM})
    for (const std::int64_t at : {1, 3, 4, 6}) {
      CAPTURE(at);
      clear_interrupts();
      const Place place;
      Recorder seen;
      seen.on_step = [&](std::int64_t step) { if (step == at) std::raise(signal); };
      const auto part = go(place.config(), place, seen);
      CHECK(part.step == at);
      CHECK(outcome(place, part.run).step == at);
      CHECK(part.exit_code == 130);   // at the last step, too: the evaluation is left to the resumed run
      CHECK(part.status == RunStatus::stopped);
      CHECK(part.reason == "interrupted by a signal");
      const auto r = go(place.config(), place, ResumeMode::automatic);
      CHECK(r.run == part.run);
      check_same(place, r.run, expected);
    }
  clear_interrupts();
}

TEST_CASE("a signal while starting up counts, too") {
  watch_interrupts();
  clear_interrupts();
  class Early final : public Observer {
    void started(const StartEvent&) override { std::raise(SIGTERM); }
  } early;
  const Place place;
  const auto part = train(place.config(), {.runs_dir = place.runs(), .threads = 1}, early);
  clear_interrupts();
  CHECK(part.exit_code == 130);
  CHECK(part.step == 0);
  check_same(place, go(place.config(), place, ResumeMode::automatic).run, reference());
}

TEST_CASE("a signal during an evaluation: it is due again, and runs first at resume") {
  const std::vector<std::string> slow = {"data.val.size=6000", "data.loader.eval_batch_size=1"};
  const Outcome expected = reference(slow);
  watch_interrupts();
  int tries = 20;   // on a busy machine the signal may come after the evaluation
  for (std::int64_t at = 2; at <= 6;) {
    CAPTURE(at);
    clear_interrupts();
    const Place place;
    std::thread killer;
    Recorder seen;
    seen.on_step = [&](std::int64_t step) {
      if (step == at) killer = std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ::kill(::getpid(), SIGTERM);
      });
    };
    const auto part = go(place.config(slow), place, seen);
    killer.join();
    clear_interrupts();
    if (!seen.evaluations.empty() && seen.evaluations.back() >= at && --tries > 0) continue;
    CHECK(part.exit_code == 130);
    CHECK(part.status == RunStatus::stopped);
    CHECK(part.step == at);
    CHECK((seen.evaluations.empty() || seen.evaluations.back() < at));
    CHECK(outcome(place, part.run).step == at);
    Recorder again;
    const auto r = go(place.config(slow), place, again, ResumeMode::automatic);
    CHECK(r.status == RunStatus::finished);
    REQUIRE_FALSE(again.evaluations.empty());
    CHECK(again.evaluations.front() == at);
    CHECK(again.commits.front() == at);   // its score and its weights belong together
    check_same(place, r.run, expected);
    CHECK(outcome(place, r.run).best == expected.best);
    at += 4;
  }
}

TEST_CASE("the patience of early stopping survives") {
  const std::vector<std::string> base = {"train.epochs=20", "optim.lr=0.5", "hooks=[{name: early_stopping, monitor: val/loss, patience: 4}]"};
  const Place whole;
  const auto expected = go(whole.config(base), whole);
  REQUIRE(expected.step < 60);
  CHECK(expected.status == RunStatus::finished);
  CHECK(expected.reason.find("early stopping") == 0);
  const Place place;
  for (std::int64_t stop = 5; stop < expected.step; stop += 5) {
    std::vector<std::string> part = base;
    part.push_back(fmt::format("train.max_steps={}", stop));
    go(place.config(part), place, ResumeMode::automatic);
  }
  const auto r = go(place.config(base), place, ResumeMode::automatic);
  CHECK(r.step == expected.step);
  CHECK(r.reason == expected.reason);
  CHECK(r.chain_hash == expected.chain_hash);
  CHECK(go(place.config(base), place, ResumeMode::automatic).already_complete);
  CHECK(run_folders(place).size() == 1);
}

TEST_CASE("a commit says what its segment did so far") {
  const Place place;
  FaultFiles count(real_files(), Fault::none, 0);
  Recorder seen;
  go(place.config(), place, seen, ResumeMode::none, &count);
  const Place other;
  FaultFiles files(real_files(), Fault::stop, count.calls() - 1);
  try {
    go(other.config(), other, seen, ResumeMode::none, &files);
  } catch (const Stop&) {
  }
  const auto segment = store_of(other).segments(run_folders(other).front()).front();
  CHECK(segment.last_step == 6);
  CHECK(segment.train_samples == 48);
  CHECK(segment.wall_s > 0);
  CHECK_FALSE(segment.exit_code);
}

TEST_CASE("labels and class maps are checked before anything runs") {
  const Place place;
  const Error e = error_of([&] { go(place.config({"data.val.num_classes=4"}), place); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("3 classes in train and 4 in val") != std::string::npos);
  CHECK_FALSE(real_files().exists(place.runs()));
}
