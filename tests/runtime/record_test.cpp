// What a run says of itself, and what is asked when it is opened again: its record, its data, its model, its chain.
#include <csignal>

#include "lockstep/base/signals.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/runtime/eval_run.h"
#include "lockstep/runtime/probe.h"
#include "lockstep/state/chain.h"
#include "runtime/runs.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

EvalReport eval_last(const Place& place, std::vector<std::string> overrides = {}) {
  Store store = store_of(place);
  const RunRow run = store.find_run("last");
  const LoadedConfig loaded = load_config(paths(place, run.id).config(), overrides);
  Experiment e(loaded.config);
  return evaluate_run(e, store, run, "last", "val", !overrides.empty());
}

/// The nth read of one file fails as a disk does.
class UnreadableOnce final : public FileSystem {
 public:
  UnreadableOnce(std::string path, int at) : path_(std::move(path)), left_(at) {}
  [[nodiscard]] bool failed() const { return left_ <= 0; }
  std::string read_at(const std::string& path, std::uint64_t offset, std::uint64_t size) override {
    if (path == path_ && --left_ == 0) fail(Category::resource, "cannot read " + path + ": Input/output error");
    return under_.read_at(path, offset, size);
  }
  bool mkdir(const std::string& path) override { return under_.mkdir(path); }
  std::unique_ptr<File> open(const std::string& path, OpenMode mode) override { return under_.open(path, mode); }
  void rename(const std::string& from, const std::string& to) override { under_.rename(from, to); }
  bool link(const std::string& from, const std::string& to) override { return under_.link(from, to); }
  bool unlink(const std::string& path) override { return under_.unlink(path); }
  void sync_dir(const std::string& path) override { under_.sync_dir(path); }
  std::vector<std::string> list(const std::string& path) override { return under_.list(path); }
  std::optional<FileStat> stat(const std::string& path) override { return under_.stat(path); }
  void note(std::string_view point) override { under_.note(point); }

 private:
  FileSystem& under_ = real_files();
  std::string path_;
  int left_;
};

}  // namespace

TEST_CASE("a disk that cannot read last.ckpt is no damaged checkpoint: exit 5, and nothing older takes its place") {
  for (int n = 1;; ++n) {
    CAPTURE(n);
    REQUIRE(n < 200);
    const Place place;
    const auto part = go(place.config({"train.max_steps=4"}), place);
    UnreadableOnce files(paths(place, part.run).last(), n);
    Recorder seen;
    const Error e = error_of([&] { go(place.config(), place, seen, ResumeMode::automatic, &files); });
    CHECK_FALSE(seen.heard("continuing from"));
    if (!files.failed()) {   // every read of it has had its turn
      CHECK(n > 5);
      break;
    }
    if (seen.started_at == 4) continue;   // a commit read it back, and is tried again
    CHECK(e.category == Category::resource);
    CHECK(go(place.config(), place, seen, ResumeMode::automatic).step == 6);
    CHECK(seen.started_at == 4);
  }
}

TEST_CASE("a run that has lost run.json or its folder: exit 3, whatever it had not finished") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const RunPaths p = paths(place, part.run);
  bool folder = false;
  SUBCASE("the record") { std::filesystem::remove(p.record()); }
  SUBCASE("the folder") {
    std::filesystem::remove_all(p.dir);
    folder = true;
  }
  for (const ResumeMode mode : {ResumeMode::automatic, ResumeMode::run}) {
    Recorder seen;
    const Error e = error_of([&] { go(place.config(), place, seen, mode, nullptr, part.run); });
    CHECK(e.category == Category::data);
    CHECK(e.message.find(folder ? "has lost its folder" : "has lost its file") != std::string::npos);
  }
}

TEST_CASE("a run that had finished and has lost its record: a new one") {
  const Place place;
  const auto done = go(place.config(), place);
  std::filesystem::remove(paths(place, done.run).record());
  const auto r = go(place.config(), place, ResumeMode::automatic);
  CHECK(r.run != done.run);
  CHECK(r.state_hash == done.state_hash);
}

TEST_CASE("data that changed after the end: asked automatically, a new run; asked by name, or evaluated, exit 3") {
  const Place place;
  const IdxData data(place);
  const auto done = go(place.config({}, data.yaml), place);
  CHECK(go(place.config({}, data.yaml), place, ResumeMode::automatic).already_complete);
  CHECK(eval_last(place).matches_logged() == true);
  data.set("t10k", 12, 1);
  Recorder seen;
  CHECK(error_of([&] { go(place.config({}, data.yaml), place, seen, ResumeMode::run, nullptr, done.run); }).category == Category::data);
  CHECK(error_of([&] { eval_last(place); }).category == Category::data);
  const auto other = go(place.config({}, data.yaml), place, seen, ResumeMode::automatic);
  CHECK(seen.heard("have changed since run " + done.run + " finished"));
  CHECK(other.run != done.run);
  CHECK(eval_last(place).matches_logged() == true);
}

TEST_CASE("eval: an edited config is exit 3; overrides that make another experiment are not compared; nuisances are") {
  const Place place;
  const auto done = go(place.config(), place);
  CHECK(eval_last(place, {"data.loader.eval_batch_size=5"}).matches_logged() == true);
  const EvalReport other = eval_last(place, {"data.val.size=7"});
  CHECK_FALSE(other.matches_logged());
  CHECK(other.not_compared.find("data.val.size") != std::string::npos);
  CHECK(other.evaluation.samples == 7);
  const std::string path = paths(place, done.run).config();
  std::string config = real_files().read_file(path);
  config.replace(config.find("size: 12"), 8, "size: 11");
  put(path, config);
  const Error e = error_of([&] { eval_last(place); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("data.val.size: 12 there, 11 now") != std::string::npos);
}

TEST_CASE("the model says what the run is, also when no step was taken after a resume; reindex believes it") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const auto metadata = [&] { return read_safetensors(real_files(), paths(place, part.run).model()).metadata; };
  const std::string identity = metadata().at(std::string(kIdentityKey));
  CHECK(metadata().at(std::string(kStateHashKey)) == part.state_hash);
  CHECK(metadata().at(std::string(kStatusKey)) == "stopped");
  CHECK(identity != std::string(64, '0'));

  // A damaged model is noticed, and written again.
  flip_byte(paths(place, part.run).model());
  Recorder seen;
  const auto again = go(place.config({"train.max_steps=4"}), place, seen, ResumeMode::automatic);
  CHECK(seen.heard("it is written again"));
  CHECK(again.step == 4);
  const auto facts = checkpoint_probe(real_files())(paths(place, part.run).model());
  REQUIRE(facts);
  CHECK(facts->state_hash == part.state_hash);
  CHECK(metadata().at(std::string(kIdentityKey)) == identity);

  // A signal before the first step: nothing is committed, and the model is written all the same.
  watch_interrupts();
  clear_interrupts();
  class Early final : public Observer {
    void started(const StartEvent&) override { std::raise(SIGTERM); }
  } early;
  CHECK(train(place.config(), {.runs_dir = place.runs(), .resume = ResumeMode::automatic, .threads = 1}, early).exit_code == 130);
  clear_interrupts();
  CHECK(metadata().at(std::string(kIdentityKey)) == identity);

  const auto status_after_loss = [&] {
    for (const char* name : {"/lockstep.db", "/lockstep.db-wal", "/lockstep.db-shm"}) real_files().unlink(place.runs() + name);
    Store store = Store::open(place.runs(), StoreMode::create);
    static_cast<void>(reindex(store, real_files(), checkpoint_probe(real_files())));
    return store.run(part.run)->status;
  };
  CHECK(status_after_loss() == RunStatus::stopped);
  go(place.config(), place, ResumeMode::automatic);
  CHECK(status_after_loss() == RunStatus::finished);
  std::filesystem::remove(paths(place, part.run).model());
  CHECK(status_after_loss() == RunStatus::interrupted);
}

TEST_CASE("a resume that changes nuisances or the horizon rewrites config.yaml") {
  const Place place;
  const auto done = go(place.config(), place);
  go(place.config({"train.epochs=3", "data.loader.workers=1"}), place, ResumeMode::automatic);
  const LoadedConfig now = load_config(paths(place, done.run).config(), {});
  CHECK(now.config.train.epochs == 3);
  CHECK(now.config.data.loader.workers == 1);
  CHECK(store_of(place).run(done.run)->config == real_files().read_file(paths(place, done.run).config()));
}

TEST_CASE("a middle record of the chain was changed: resuming is exit 6") {
  const Place place;
  const auto part = go(place.config({"train.max_steps=4"}), place);
  const std::string path = paths(place, part.run).chain();
  std::string bytes = real_files().read_file(path);
  bytes[2 * sizeof(ChainRecord) + 20] ^= 1;
  put(path, bytes);
  for (const bool fork : {false, true}) {
    const Error e = error_of([&] {
      if (fork) fork_of(place.config(), place, part.run);
      else go(place.config(), place, ResumeMode::automatic);
    });
    CHECK(e.category == Category::mismatch);
    CHECK(e.message.find("record 2 of ") != std::string::npos);
  }
}

TEST_CASE("a test set that is not there is noticed before the first step, and no run is made") {
  const Place place;
  const IdxData data(place);
  const Error e = error_of([&] { go(place.config({"data.test={name: idx, root: " + place.path() + "/nowhere, split: t10k}"}, data.yaml), place); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("nowhere") != std::string::npos);
  CHECK(run_folders(place).empty());
}

TEST_CASE("of several validation splits, `main` reports as val; two of one name are refused") {
  const Place place;
  const auto splits = [](std::string_view other) {
    return fmt::format("data.val={{main: {{name: synthetic, size: 12, shape: [4], num_classes: 3}}, {}: {{name: synthetic, size: 6, shape: [4], num_classes: 3}}}}", other);
  };
  const auto r = go(place.config({splits("night")}), place);
  std::set<std::string> names;
  for (const auto& m : store_of(place).summaries(r.run)) names.insert(m.name);
  CHECK(names.contains("val/loss"));
  CHECK(names.contains("night/loss"));
  const Error e = error_of([&] { static_cast<void>(place.config({splits("val")})); });
  CHECK(e.category == Category::usage);
  CHECK(e.message.find("two validation splits would report their metrics as 'val/...'") != std::string::npos);
}
