// Tests of schema steps: old stores are upgraded once, newer ones are refused.
#include "track/migrations.h"

#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/base/version.h"
#include "lockstep/track/store.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::track;
using lockstep::test::TempFolder;

TEST_CASE("versions count up from one") {
  std::int64_t expected = 1;
  for (const Migration& step : migrations()) CHECK(step.version == expected++);
}

TEST_CASE("a store of an older schema keeps its rows and gains the new table") {
  const TempFolder dir;
  const Database db(dir / "x.db", Database::Access::create);
  const Migration first[] = {{1, "one", "CREATE TABLE a (x); INSERT INTO a VALUES (7);"}};
  const Migration both[] = {first[0], {2, "two", "CREATE TABLE b AS SELECT x + 1 AS y FROM a;"}};
  CHECK(schema_version(db) == 0);
  migrate(db, first);
  CHECK(schema_version(db) == 1);
  migrate(db, both);
  migrate(db, both);
  CHECK(schema_version(db) == 2);
  CHECK(db.integer("SELECT y FROM b") == 8);
  CHECK(db.integer("SELECT count(*) FROM schema_version") == 2);
  CHECK_THROWS_AS(migrate(db, first), Error);
}

TEST_CASE("a step that fails leaves the store as it was") {
  const TempFolder dir;
  const Database db(dir / "x.db", Database::Access::create);
  const Migration broken[] = {{1, "one", "CREATE TABLE a (x);"}, {2, "two", "CREATE TABLE a (x);"}};
  CHECK_THROWS_AS(migrate(db, broken), Error);
  CHECK(db.integer("SELECT count(*) FROM sqlite_master") == 0);
}

TEST_CASE("a store of a newer schema is refused with both versions") {
  const TempFolder dir;
  { Store::open(dir.path(), StoreMode::create); }
  const std::string path = dir / "lockstep.db";
  Database(path, Database::Access::write).exec("INSERT INTO schema_version VALUES (99, 'later', 0, '9.0')");
  try {
    Store::open(dir.path(), StoreMode::existing);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.category == Category::data);
    CHECK(error.message == "the run store '" + path + "' has schema version 99, but this lockstep " +
                               std::string(version()) +
                               " knows versions up to 1. Use the newer lockstep that wrote it, or name another folder "
                               "with --runs-dir");
  }
}
