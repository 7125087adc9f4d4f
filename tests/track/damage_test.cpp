// A run store whose file was cut or overwritten: every command says that the data are damaged, or still finds its way.
#include <doctest/doctest.h>

#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "temp_folder.h"
#include "track/sample.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Everything that commands ask of a store, and one write.
void use(const std::string& runs) {
  Store store = Store::open(runs, StoreMode::existing);
  for (const RunRow& run : store.runs()) {
    static_cast<void>(store.summaries(run.id));
    static_cast<void>(store.totals(run.id));
    static_cast<void>(store.artifacts(run.id));
    static_cast<void>(store.events(run.id));
    static_cast<void>(store.state_hashes(run.id));
    static_cast<void>(store.metric(run.id, "train/loss", 5));
  }
  store.set_status(kRunA, RunStatus::interrupted, "x");
}

// What use() says of a database of these bytes; empty when it found its way.
std::string said(const TempFolder& dir, const std::string& bytes) {
  for (const char* name : {"lockstep.db-wal", "lockstep.db-shm"}) std::filesystem::remove(dir / name);
  dir.write("lockstep.db", bytes);
  try {
    use(dir.path());
  } catch (const Error& error) {
    CHECK_MESSAGE(error.category == Category::data, error.message);
    return error.message;
  }
  return {};
}

}  // namespace

TEST_CASE("a damaged run store is an error of the data, wherever the damage lies") {
  const TempFolder dir;
  {
    Store store = Store::open(dir.path(), StoreMode::create);
    store.create_run(sample_run(kRunA, "a", 1));
    RowLog log;
    log_steps(log, 0, 40);
    log.event(EventRow{3, "resume", "x", "", 77});
    store.commit_rows(kRunA, store.begin_segment(sample_segment(kRunA, 0)), 40, log);
    std::vector<ArtifactRow> artifacts;
    store.commit_checkpoint(kRunA, sample_commit(40, artifacts));
  }
  const std::string whole = real_files().read_file(dir / "lockstep.db");
  REQUIRE(said(dir, whole).empty());
  int noticed = 0;
  for (std::size_t at = 0; at < whole.size(); at += 1367) {
    noticed += said(dir, whole.substr(0, at)).empty() ? 0 : 1;
    std::string zeroed = whole, scribbled = whole;
    for (std::size_t i = at; i < std::min(at + 64, whole.size()); ++i) {
      zeroed[i] = '\0';
      scribbled[i] = static_cast<char>(scribbled[i] ^ static_cast<char>(0x55 + i % 7));
    }
    noticed += (said(dir, zeroed).empty() ? 0 : 1) + (said(dir, scribbled).empty() ? 0 : 1);
  }
  CHECK(noticed > 30);
}

TEST_CASE("tables of another form, and a status that is none, ask for a reindex") {
  const TempFolder dir;
  {
    Store store = Store::open(dir.path(), StoreMode::create);
    store.create_run(sample_run(kRunA, "a", 1));
  }
  const std::string whole = real_files().read_file(dir / "lockstep.db");
  std::string renamed = whole;
  renamed.replace(renamed.find("identity TEXT"), 8, "idontity");
  CHECK(said(dir, renamed).find("no such column: identity: its tables are not as lockstep makes them, so it is damaged. Move it "
                                "away and let `lockstep runs reindex` rebuild it") != std::string::npos);
  {
    dir.write("lockstep.db", whole);
    Store store = Store::open(dir.path(), StoreMode::existing);
    CHECK_THROWS_WITH(static_cast<void>(store.metrics(kRunB)),
                      ("the run store '" + dir / "lockstep.db" + "' has no run '" + kRunB +
                       "': it was replaced, or is damaged. Move it away and let `lockstep runs reindex` rebuild it from the run "
                       "folders (curves are lost, training is not)").c_str());
  }
  std::string status = whole;
  status.replace(status.rfind("running"), 7, "jumping");
  CHECK(said(dir, status).find("unknown status 'jumping' in the run store: it is damaged. Move lockstep.db away") != std::string::npos);
}
