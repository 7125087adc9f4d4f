// Tests of the run store: what is written is read back, superseded rows vanish, names find runs.
#include "lockstep/track/store.h"

#include <doctest/doctest.h>

#include <limits>

#include "lockstep/base/error.h"
#include "print.h"
#include "temp_folder.h"
#include "track/sample.h"
#include "track/sqlite.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::string message_of(const std::function<void()>& f, Category category) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(text(error.category) == text(category));
    return error.message;
  }
  FAIL("no error was thrown");
  return {};
}

}  // namespace

TEST_CASE("a run comes back as it was written") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  CHECK(store.schema_version() == 1);
  CHECK(store.warnings().empty());
  RunRow run = sample_run(kRunA, "mlp", 5);
  run.parent = ParentRef{kRunB, 17, "ab"};
  store.create_run(run);
  const auto read = store.run(kRunA);
  REQUIRE(read);
  CHECK(read->name == "mlp");
  CHECK(read->status == RunStatus::running);
  CHECK(read->created_ns == 5);
  CHECK(read->identity == "1d");
  CHECK(read->config == "seed: 7\n");
  CHECK(read->directory == "runs/" + kRunA);
  REQUIRE(read->parent);
  CHECK(read->parent->run == kRunB);
  CHECK(read->parent->step == 17);
  CHECK(read->step == 0);
  CHECK_FALSE(store.run(kRunB));
  CHECK(message_of([&] { store.create_run(run); }, Category::usage).find("already has a run") != std::string::npos);
  store.set_status(kRunA, RunStatus::failed, "divergence");
  CHECK(store.run(kRunA)->reason == "divergence");
}

TEST_CASE("commits make rows, checkpoints and the end visible") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  const std::vector<MetricInfo> infos = {{"val/accuracy", Direction::higher, "fraction"},
                                         {"train/loss", Direction::lower, ""}};
  store.create_run(sample_run(kRunA, "mlp", 5), infos);
  const std::int64_t segment = store.begin_segment(sample_segment(kRunA, 0));
  RowLog log;
  log_steps(log, 0, 12);
  log.event(EventRow{3, "bad sample", "row 9 is damaged", "{\"row\":9}", 77});
  log.event(EventRow{13, "later", "not yet", "", 78});
  store.commit_rows(kRunA, segment, 12, log);
  CHECK(log.size() == 1);
  std::vector<ArtifactRow> artifacts;
  CheckpointCommit commit = sample_commit(12, artifacts);
  commit.identity = "2e";
  store.commit_checkpoint(kRunA, commit);
  CHECK(store.metrics(kRunA).size() == 16);
  CHECK(store.metrics(kRunA, "val/accuracy").size() == 4);
  CHECK(store.metric(kRunA, "train/loss", 4) == 0.25);
  CHECK(store.metric(kRunA, "train/loss", 99) == std::nullopt);
  REQUIRE(store.events(kRunA).size() == 1);
  CHECK(store.events(kRunA)[0].text == "row 9 is damaged");
  CHECK(store.run(kRunA)->step == 12);
  CHECK(store.run(kRunA)->state_hash == "aa12");
  CHECK(store.run(kRunA)->identity == "2e");

  const auto summaries = store.summaries(kRunA);
  REQUIRE(summaries.size() == 2);
  CHECK(summaries[0].name == "train/loss");
  CHECK(summaries[0].best == summaries[0].last);
  CHECK(summaries[1].last_step == 12);
  CHECK(summaries[1].best_step == 6);
  CHECK(summaries[1].best == doctest::Approx(0.56));

  const std::vector<std::string> gone = {"checkpoints/last.ckpt"};
  store.drop_artifacts(kRunA, gone);
  CHECK(store.artifacts(kRunA).empty());

  FinishCommit end;
  end.step = 12;
  end.epoch = 3;
  end.state_hash = "aa12";
  SegmentEnd work;
  work.segment = segment;
  work.ended_ns = 9000;
  work.last_step = 12;
  work.wall_s = 3;
  work.train_s = 2;
  work.train_samples = 100;
  work.step_ms_median = 0.5;
  work.peak_rss_bytes = 4096;
  work.exit_code = 0;
  end.segment = work;
  store.finish(kRunA, end);
  CHECK(store.run(kRunA)->status == RunStatus::finished);
  CHECK(store.run(kRunA)->chain_hash == "cc12");
  REQUIRE(store.segments(kRunA).size() == 1);
  CHECK(store.segments(kRunA)[0].exit_code == 0);
  CHECK(store.totals(kRunA).train_samples_per_s == 50);
  CHECK(store.totals(kRunA).step_ms_median == 0.5);
}

TEST_CASE("NaN is a value and is never the best one") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  const std::vector<MetricInfo> infos = {{"a", Direction::lower, ""}, {"b", Direction::higher, ""}};
  store.create_run(sample_run(kRunA, "mlp", 5), infos);
  RowLog log;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const auto& [step, a, b] : {std::tuple{1, nan, nan}, std::tuple{2, 3.0, nan}, std::tuple{3, inf, nan}}) {
    log.metric(step, 0, log.metric_id("a"), a);
    log.metric(step, 0, log.metric_id("b"), b);
  }
  store.commit_rows(kRunA, 1, 3, log);
  const auto rows = store.metrics(kRunA, "a");
  REQUIRE(rows.size() == 3);
  CHECK(std::isnan(rows[0].value));
  CHECK(rows[2].value == inf);
  const auto summaries = store.summaries(kRunA);
  CHECK(summaries[0].best == 3.0);
  CHECK(summaries[0].best_step == 2);
  CHECK(std::isnan(summaries[1].best));
}

TEST_CASE("a killed and resumed run shows the rows of an uninterrupted one") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  std::vector<ArtifactRow> artifacts;
  store.create_run(sample_run(kRunA, "mlp", 5));
  store.create_run(sample_run(kRunB, "mlp", 6));
  {
    const auto segment = store.begin_segment(sample_segment(kRunA, 0));
    RowLog log;
    for (const std::int64_t step : {6, 12, 18}) {
      log_steps(log, step - 6, step);
      store.commit_rows(kRunA, segment, step, log);
      store.commit_checkpoint(kRunA, sample_commit(step, artifacts));
    }
  }
  RowLog log;
  auto segment = store.begin_segment(sample_segment(kRunB, 0));
  log_steps(log, 0, 6);
  store.commit_rows(kRunB, segment, 6, log);
  store.commit_checkpoint(kRunB, sample_commit(6, artifacts));
  log_steps(log, 6, 12);
  log.event(EventRow{9, "x", "from the lost part", "", 1});
  log.state_hash(10, "ee");
  store.commit_rows(kRunB, segment, 12, log);  // and killed before the checkpoint

  segment = store.begin_segment(sample_segment(kRunB, 6));
  CHECK(store.metrics(kRunB, "train/loss").size() == 6);
  CHECK(store.events(kRunB).empty());
  CHECK(store.state_hashes(kRunB).size() == 1);
  RowLog replay;
  log_steps(replay, 6, 12);
  store.commit_rows(kRunB, segment, 12, replay);
  store.commit_checkpoint(kRunB, sample_commit(12, artifacts));
  log_steps(replay, 12, 18);
  store.commit_rows(kRunB, segment, 18, replay);
  store.commit_checkpoint(kRunB, sample_commit(18, artifacts));
  CHECK(curves(store, kRunA) == curves(store, kRunB));
  const auto segments = store.segments(kRunB);
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].ended_ns != 0);
  CHECK(segments[0].exit_code == std::nullopt);
  CHECK(segments[1].first_step == 6);
}

TEST_CASE("another hash at a known step is a determinism mismatch") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  store.create_run(sample_run(kRunA, "mlp", 5));
  std::vector<ArtifactRow> artifacts;
  store.commit_checkpoint(kRunA, sample_commit(6, artifacts));
  store.begin_segment(sample_segment(kRunA, 0));
  CheckpointCommit other = sample_commit(6, artifacts);
  other.state_hash = "ff";
  CHECK(message_of([&] { store.commit_checkpoint(kRunA, other); }, Category::mismatch) ==
        "run 20240501-120000-abcd, step 6: the state hashes to ff, but an earlier pass over this step gave aa6. Equal "
        "runs must give equal hashes; `lockstep verify 20240501-120000-abcd` finds the step where they part");
  CHECK(store.run(kRunA)->step == 6);
}

TEST_CASE("runs are found by id, name, prefix and last") {
  const TempFolder dir;
  Store store = Store::open(dir / "runs", StoreMode::create);
  CHECK(message_of([&] { static_cast<void>(store.find_run("last")); }, Category::usage).find("holds no runs yet") != std::string::npos);
  store.create_run(sample_run(kRunA, "mlp", 5));
  store.create_run(sample_run(kRunB, "mlp", 6));
  store.create_run(sample_run(kRunC, "fashion", 4));
  CHECK(store.find_run("last").id == kRunB);
  CHECK(store.find_run(kRunA).id == kRunA);
  CHECK(store.find_run("mlp").id == kRunB);
  CHECK(store.find_run("202406").id == kRunC);
  CHECK(store.runs("mlp").size() == 2);
  CHECK(store.runs()[0].id == kRunB);
  CHECK(message_of([&] { static_cast<void>(store.find_run("202405")); }, Category::usage) ==
        "'202405' could be any of 2 runs; give more of the id:\n"
        "  20240501-120001-abce  running  mlp\n"
        "  20240501-120000-abcd  running  mlp");
  CHECK(message_of([&] { static_cast<void>(store.find_run("fashoin")); }, Category::usage) ==
        "there is no run 'fashoin' in '" + dir / "runs" +
            "' (3 runs); did you mean 'fashion'? A run is named by its id, the start of its id, its name (the newest) "
            "or `last`");
}

TEST_CASE("a folder without a store, a foreign database and a damaged one are told apart") {
  const TempFolder dir;
  CHECK(message_of([&] { Store::open(dir / "runs", StoreMode::existing); }, Category::data) ==
        "there are no runs in '" + dir / "runs" +
            "': it has no lockstep.db. Train something first, or say where the runs are with --runs-dir (or "
            "LOCKSTEP_RUNS)");
  FileSystem& files = real_files();
  make_dirs(files, dir / "other");
  track::Database(dir / "other" + "/lockstep.db", track::Database::Access::create).exec("CREATE TABLE t (x)");
  CHECK(message_of([&] { Store::open(dir / "other", StoreMode::create); }, Category::data).find("not a run store") !=
        std::string::npos);
  make_dirs(files, dir / "folder" + "/lockstep.db");
  CHECK(message_of([&] { Store::open(dir / "folder", StoreMode::create); }, Category::data).find("Check that its folder exists and may be written") !=
        std::string::npos);
  {
    Store store = Store::open(dir / "odd", StoreMode::create);
    store.create_run(sample_run(kRunA, "mlp", 5));
    track::Database(dir / "odd" + "/lockstep.db", track::Database::Access::write).exec("UPDATE runs SET status = 'asleep'");
    CHECK(message_of([&] { static_cast<void>(store.run(kRunA)); }, Category::data) ==
          "run " + std::string(kRunA) + " has the unknown status 'asleep' in the run store: it is damaged. Move lockstep.db away "
          "and let `lockstep runs reindex` rebuild it from the run folders (curves are lost, training is not)");
  }
  make_dirs(files, dir / "bad");
  atomic_write(files, dir / "bad" + "/lockstep.db", std::string(5000, 'x'));
  CHECK(message_of([&] { Store::open(dir / "bad", StoreMode::create); }, Category::data).find("runs reindex") !=
        std::string::npos);
}
