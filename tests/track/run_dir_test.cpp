// Tests of run folders, their ids and records, and of putting the store right after a death.
#include "lockstep/track/run_dir.h"

#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/track/environment.h"
#include "temp_folder.h"
#include "track/sample.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// In these tests a checkpoint file holds "<step> <hash>", a model also the status of its run.
std::optional<CheckpointFacts> probe(const std::string& path) {
  const std::string text = real_files().read_file(path);
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return std::nullopt;
  CheckpointFacts facts;
  facts.step = std::stol(text.substr(0, blank));
  const std::size_t second = text.find(' ', blank + 1);
  facts.state_hash = text.substr(blank + 1, second == std::string::npos ? second : second - blank - 1);
  if (second != std::string::npos) facts.status = parse_run_status(text.substr(second + 1));
  facts.chain_hash = "cc";
  return facts;
}

void put(const std::string& path, const std::string& text) { atomic_write(real_files(), path, text); }

// A run's folder as it is at its first commit.
RunPaths folder(const std::string& runs, const std::string& id) {
  const RunPaths paths{runs + "/" + id};
  make_dirs(real_files(), paths.checkpoints());
  put(paths.config(), "seed: 7\n");
  put(paths.record(), run_record(sample_run(id, "mlp", 5), Json::object(), Json::array(), Json::object()).dump(2));
  return paths;
}

std::vector<std::string> actions(const std::vector<ReapResult>& results) {
  std::vector<std::string> out;
  for (const ReapResult& r : results) out.push_back(r.run + " " + r.action);
  return out;
}

}  // namespace

TEST_CASE("a run id is a time and four letters, never all digits") {
  CHECK(make_run_id(1714566896789000000, 0) == "20240501-123456-aaaa");
  CHECK(is_run_id("20240501-123456-k3mq"));
  for (const char* word : {"20240501-123456-k3m", "20240501-123456-K3MQ", "20240501-123456-0000", "2024050a-123456-k3mq",
                           "last", ""}) {
    CHECK_FALSE(is_run_id(word));
  }
  const auto digits_only = [](std::uint32_t entropy) {
    const std::string tail = make_run_id(0, entropy).substr(16);
    CHECK(is_run_id(make_run_id(0, entropy)));
    return tail.find_first_not_of("0123456789") == std::string::npos;
  };
  for (std::uint32_t digit = 26; digit < 32; ++digit) {
    CHECK_FALSE(digits_only(digit | digit << 5 | digit << 10 | digit << 15));
  }
}

TEST_CASE("a new run owns its folder; nobody else can take it meanwhile") {
  const TempFolder dir;
  const NewRun run = create_run_dir(real_files(), dir / "runs");
  CHECK(is_run_id(run.id));
  CHECK(real_files().exists(run.paths.lock()));
  CHECK(run.paths.kept(1200) == run.paths.dir + "/checkpoints/step-000001200.ckpt");
  const SegmentRow owner = sample_segment(run.id, 0);
  try {
    lock_run(run.paths, &owner);
    FAIL("the lock was taken twice");
  } catch (const Error& error) {
    CHECK(error.category == Category::usage);
    CHECK(error.message == "run '" + run.id +
                               "' is at work in another process (pid 42 on box); one run has one owner. Wait for it, "
                               "or stop it with SIGTERM: it then commits and can be resumed");
  }
}

TEST_CASE("run.json gives the row back") {
  RunRow run = sample_run(kRunA, "mlp", 1714566896789000000);
  run.parent = ParentRef{kRunB, 3, "ab"};
  const Json record = run_record(run, Json::object().set("seed", 7), Json::array(), Json());
  const RunRow back = run_from_record(Json::parse(record.dump(2), "run.json"));
  CHECK(back.id == kRunA);
  CHECK(back.name == "mlp");
  CHECK(back.created_ns == run.created_ns);
  CHECK(back.identity == "1d");
  REQUIRE(back.parent);
  CHECK(back.parent->step == 3);
  Json newer = record;
  newer.set("format", 2);
  CHECK_THROWS_WITH_AS(static_cast<void>(run_from_record(newer)),
                       "run.json has format 2, this lockstep reads format 1: use the newer lockstep that wrote it", Error);
  CHECK(record.at("created").string() == "2024-05-01T12:34:56.789Z");
}

TEST_CASE("reap: each state that a death can leave") {
  const TempFolder dir;
  const std::string runs = dir / "runs";
  Store store = Store::open(runs, StoreMode::create);
  FileSystem& files = real_files();

  SUBCASE("after mkdir: the empty folder goes") {
    files.mkdir(runs + "/" + kRunA);
    CHECK(actions(reap(store, files, probe)) == std::vector<std::string>{kRunA + " removed"});
    CHECK_FALSE(files.exists(runs + "/" + kRunA));
  }
  SUBCASE("before run.json: what was begun goes, a foreign file stays") {
    files.mkdir(runs + "/" + kRunA);
    put(runs + "/" + kRunA + "/config.yaml", "x");
    put(runs + "/" + kRunA + "/lock", "");
    files.mkdir(runs + "/" + kRunB);
    put(runs + "/" + kRunB + "/notes.txt", "mine");
    files.mkdir(runs + "/my-notes");
    CHECK(actions(reap(store, files, probe)) == std::vector<std::string>{kRunA + " removed", kRunB + " kept"});
    CHECK_FALSE(files.exists(runs + "/" + kRunA));
    CHECK(files.exists(runs + "/" + kRunB + "/notes.txt"));
    CHECK(files.exists(runs + "/my-notes"));
  }
  SUBCASE("a folder being created now is left alone") {
    const NewRun fresh = create_run_dir(files, runs);
    CHECK(reap(store, files, probe).empty());
    CHECK(files.exists(fresh.paths.dir));
  }
  SUBCASE("after run.json: the row is put in") {
    folder(runs, kRunA);
    CHECK(actions(reap(store, files, probe)) == std::vector<std::string>{kRunA + " inserted"});
    CHECK(store.run(kRunA)->status == RunStatus::interrupted);
    CHECK(store.run(kRunA)->config == "seed: 7\n");
    CHECK(reap(store, files, probe).empty());
  }
  SUBCASE("running, but the lock is free: the checkpoint says how far it came") {
    const RunPaths paths = folder(runs, kRunA);
    store.create_run(sample_run(kRunA, "mlp", 5));
    put(paths.last(), "12 aa12");
    CHECK(actions(reap(store, files, probe)) == std::vector<std::string>{kRunA + " interrupted"});
    CHECK(store.run(kRunA)->status == RunStatus::interrupted);
    CHECK(store.run(kRunA)->step == 12);
    CHECK(store.run(kRunA)->state_hash == "aa12");
    REQUIRE(store.artifacts(kRunA).size() == 1);
    CHECK(store.artifacts(kRunA)[0].path == "checkpoints/last.ckpt");
  }
  SUBCASE("a damaged last.ckpt: the newest retained one counts, nothing is deleted") {
    const RunPaths paths = folder(runs, kRunA);
    store.create_run(sample_run(kRunA, "mlp", 5));
    put(paths.last(), "torn");
    put(paths.kept(3), "3 aa3");
    put(paths.kept(9), "9 aa9");
    reap(store, files, probe);
    CHECK(store.run(kRunA)->step == 9);
    CHECK(files.exists(paths.last()));
  }
  SUBCASE("running and locked: left alone") {
    const RunPaths paths = folder(runs, kRunA);
    store.create_run(sample_run(kRunA, "mlp", 5));
    const FileLock lock = lock_run(paths);
    CHECK(reap(store, files, probe).empty());
    CHECK(store.run(kRunA)->status == RunStatus::running);
  }
  SUBCASE("the folder is gone") {
    store.create_run(sample_run(kRunA, "mlp", 5));
    CHECK(actions(reap(store, files, probe)) == std::vector<std::string>{kRunA + " failed"});
  }
}

TEST_CASE("reindex rebuilds a lost database from the folders") {
  const TempFolder dir;
  const std::string runs = dir / "runs";
  const RunPaths done = folder(runs, kRunA);
  put(done.last(), "12 aa12");
  put(done.model(), "12 aa12 finished");
  const RunPaths half = folder(runs, kRunB);
  put(half.last(), "5 bb5");
  put(folder(runs, kRunC).record(), "{");
  Store store = Store::open(runs, StoreMode::create);
  CHECK(actions(reindex(store, real_files(), probe)) ==
        std::vector<std::string>{kRunA + " inserted", kRunB + " inserted", kRunC + " kept"});
  CHECK(store.run(kRunA)->status == RunStatus::finished);
  CHECK(store.run(kRunA)->state_hash == "aa12");
  CHECK(store.run(kRunB)->status == RunStatus::interrupted);
  CHECK(store.run(kRunB)->step == 5);
  CHECK(store.artifacts(kRunA).size() == 2);
}

TEST_CASE("the environment is captured, and git is never needed") {
  const Environment e = capture_environment();
  CHECK_FALSE(e.host.empty());
  CHECK_FALSE(e.isa.empty());
  CHECK(e.cores >= 1);
  CHECK(e.build.size() == 16);
  const TempFolder dir;
  const GitState none = git_state(dir.path(), 2000);
  CHECK(none.commit.empty());
  CHECK_FALSE(none.dirty);
  BackgroundGit background(dir.path());
  CHECK(environment_json(e, background.get()).at("git").is_null());
  CHECK(git_state(dir.path() + "/missing", 2000).commit.empty());
}
