// Every call that changes something on disk, broken in every way: what the next start makes of it.
#include "runtime/runs.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

const Outcome& uninterrupted() {
  static const Outcome known = [] {
    const Place place;
    return outcome(place, go(place.config(), place).run);
  }();
  return known;
}

std::int64_t call_count() {
  const Place place;
  FaultFiles files(real_files(), Fault::none, 0);
  Recorder seen;
  go(place.config(), place, seen, ResumeMode::none, &files);
  return files.calls();
}

/// A file of somebody else in every folder of a run. A folder without run.json is no run's: with such a file it would stay.
std::vector<std::string> put_foreign(const Place& place) {
  std::vector<std::string> out;
  if (!real_files().exists(place.runs())) return out;
  for (const auto& id : run_folders(place)) {
    const RunPaths paths{place.runs() + "/" + id};
    if (!real_files().exists(paths.record())) continue;
    out.push_back(paths.dir + "/notes.tmp");
    if (real_files().exists(paths.checkpoints())) {
      for (const char* name : {"/mine.ckpt", "/step-notes.txt", "/mine.tmp"}) out.push_back(paths.checkpoints() + name);
    }
  }
  for (const auto& path : out) put(path, "mine");
  return out;
}

void compare(const Place& place, const std::string& run, bool all) {
  const Outcome& a = uninterrupted();
  const Outcome b = outcome(place, run);
  CHECK(b.status == RunStatus::finished);
  CHECK(b.step == a.step);
  CHECK(b.state == a.state);
  CHECK(b.chain == a.chain);
  CHECK(b.chain_bytes == a.chain_bytes);
  CHECK(b.rows == a.rows);
  Store store = Store::open(place.runs(), StoreMode::existing);
  for (const auto& row : store.artifacts(run)) {   // every checkpoint holds the step that its row says
    if (row.kind == "model") continue;
    CAPTURE(row.path);
    const CheckpointInfo info = read_checkpoint(real_files(), place.runs() + "/" + run + "/" + row.path).info;
    CHECK(info.step == row.step);
    CHECK(hex(info.state_hash) == row.hash);
  }
  if (!all) return;   // a commit that failed leaves no hash, and its weights cannot be the best ones
  CHECK(b.hashes == a.hashes);
  CHECK(b.last == a.last);
  CHECK(b.best == a.best);
}

/// In checkpoints/: what others put there and what the run has a row for; `exact`: the very files of an uninterrupted run.
void check_files(const Place& place, const std::string& run, std::span<const std::string> foreign, bool exact) {
  std::vector<std::string> expected;
  Store store = Store::open(place.runs(), StoreMode::existing);
  for (const auto& a : store.artifacts(run))
    if (a.kind != "model") expected.emplace_back(file_name(a.path));
  if (exact) {
    std::ranges::sort(expected);
    CHECK(expected == uninterrupted().files);
  }
  const std::string folder = place.runs() + "/" + run + "/checkpoints/";
  for (const auto& path : foreign) {
    CHECK(real_files().exists(path));
    if (path.starts_with(folder)) expected.push_back(path.substr(folder.size()));
  }
  std::ranges::sort(expected);
  CHECK(real_files().list(folder) == expected);
}

void die_at_every_call(Fault fault, std::int64_t first, std::int64_t stride) {
  const std::int64_t calls = call_count();
  REQUIRE(calls > 60);
  for (std::int64_t n = first; n <= calls; n += stride) {
    CAPTURE(n);
    const Place place;
    const LoadedConfig config = place.config();
    FaultFiles files(real_files(), fault, n);
    std::string where;
    try {
      Recorder seen;
      go(config, place, seen, ResumeMode::none, &files);
    } catch (const Stop& stop) {
      where = stop.where;
    }
    CAPTURE(where);
    REQUIRE(files.hit());
    if (fault == Fault::lose) files.crash();
    const auto foreign = put_foreign(place);
    const TrainResult r = go(config, place, ResumeMode::automatic);
    CHECK(r.exit_code == 0);
    CHECK(run_folders(place) == std::vector<std::string>{r.run});
    compare(place, r.run, true);
    check_files(place, r.run, foreign, true);
    CHECK(go(config, place, ResumeMode::automatic).already_complete);
  }
}

void fail_at_every_call(Fault fault, std::int64_t first, std::int64_t stride) {
  const std::int64_t calls = call_count();
  int went_on = 0, ended = 0;
  for (std::int64_t n = first; n <= calls; n += stride) {
    CAPTURE(n);
    const Place place;
    const LoadedConfig config = place.config();
    FaultFiles files(real_files(), fault, n);
    Recorder seen;
    const Error e = error_of([&] { go(config, place, seen, ResumeMode::none, &files); });
    CAPTURE(e.message);
    CHECK(files.hit());
    if (e.message.empty()) {
      ++went_on;
      compare(place, run_folders(place).front(), false);
    } else {
      ++ended;
      CHECK(e.category == Category::resource);
    }
    const auto foreign = put_foreign(place);
    const TrainResult r = go(config, place, ResumeMode::automatic);
    CHECK(r.already_complete == e.message.empty());
    CHECK(run_folders(place) == std::vector<std::string>{r.run});
    compare(place, r.run, false);
    check_files(place, r.run, foreign, false);
  }
  MESSAGE(calls << " calls: training went on after " << went_on << " faults and ended with exit code 5 after " << ended);
  if (fault == Fault::io_error) CHECK(went_on > ended);
}

}  // namespace

TEST_CASE("a run that dies at any call is resumed to the same bits") { die_at_every_call(Fault::stop, 1, 1); }
TEST_CASE("a power cut at any call: what was not synced is gone, the bits are the same") { die_at_every_call(Fault::lose, 1, 1); }
TEST_CASE("a full disk at any call: exit code 5 or on it goes, and the last commit stands") { fail_at_every_call(Fault::no_space, 1, 1); }
TEST_CASE("an I/O error at any call: the commit is tried again") { fail_at_every_call(Fault::io_error, 1, 1); }

TEST_CASE("a disk that stays full or broken ends the run with exit code 5 at the last commit") {
  // Breaks everything in checkpoints/ after the first commit.
  class Broken final : public FileSystem {
   public:
    explicit Broken(bool full) : full_(full) {}
    bool mkdir(const std::string& p) override { return real_files().mkdir(p); }
    std::string read_at(const std::string& p, std::uint64_t o, std::uint64_t n) override { return real_files().read_at(p, o, n); }
    std::unique_ptr<File> open(const std::string& p, OpenMode m) override {
      if (p.ends_with("last.ckpt.tmp") && ++writes_ > 1) {
        Error e(Category::resource, full_ ? "cannot write 'last.ckpt.tmp': No space left on device" : "cannot write 'last.ckpt.tmp': Input/output error");
        e.no_space = full_;
        throw e;
      }
      return real_files().open(p, m);
    }
    void rename(const std::string& a, const std::string& b) override { real_files().rename(a, b); }
    bool link(const std::string& a, const std::string& b) override { return real_files().link(a, b); }
    bool unlink(const std::string& p) override { return real_files().unlink(p); }
    void sync_dir(const std::string& p) override { real_files().sync_dir(p); }
    std::vector<std::string> list(const std::string& p) override { return real_files().list(p); }
    std::optional<FileStat> stat(const std::string& p) override { return real_files().stat(p); }
    int writes_ = 0;

   private:
    bool full_;
  };
  for (const bool full : {true, false}) {
    const Place place;
    const LoadedConfig config = place.config({"train.epochs=4"});
    Broken files(full);
    Recorder seen;
    const Error e = error_of([&] { go(config, place, seen, ResumeMode::none, &files); });
    CHECK(e.category == Category::resource);
    CHECK(e.message.find(full ? "the commit of step 4 failed: " : "the commit of step 8 failed for the third time: ") == 0);
    CHECK(e.message.find("The checkpoint of step 2 stands") != std::string::npos);
    CHECK(seen.lines.size() == (full ? 0 : 2));
    const std::string run = run_folders(place).front();
    {
      Store store = Store::open(place.runs(), StoreMode::existing);
      CHECK(store.run(run)->status == RunStatus::failed);
      CHECK(store.run(run)->step == 2);
      CHECK(store.segments(run).front().exit_code == 5);
    }
    Recorder again;
    const TrainResult r = go(config, place, again, ResumeMode::automatic);
    CHECK(again.started_at == 2);
    const Place other;
    CHECK(r.chain_hash == go(other.config({"train.epochs=4"}), other).chain_hash);
  }
}

TEST_CASE("a best checkpoint whose commit failed later keeps its place") {
  // Fails at the last db:commit_checkpoint: best.ckpt and last.ckpt are in place, their rows are not.
  for (std::int64_t n = 1;; ++n) {
    const Place here;
    FaultFiles files(real_files(), Fault::io_error, n);
    Recorder seen;
    const Error e = error_of([&] { go(here.config(), here, seen, ResumeMode::none, &files); });
    if (!files.hit()) FAIL("no call failed at db:commit_checkpoint");
    if (!seen.heard("db:commit_checkpoint")) continue;
    const std::string run = run_folders(here).front();
    Store store = Store::open(here.runs(), StoreMode::existing);
    for (const auto& a : store.artifacts(run)) {
      CAPTURE(a.path);
      if (a.kind == "model") continue;
      CHECK(read_checkpoint(real_files(), here.runs() + "/" + run + "/" + a.path).info.step == a.step);
    }
    CHECK(std::ranges::any_of(store.events(run), [](const EventRow& ev) { return ev.kind == "commit failed"; }));
    break;
  }
}
