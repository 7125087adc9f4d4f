// Tests of base/file.h and base/fault_files.h.
#include "lockstep/base/file.h"

#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/base/fault_files.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using test::TempFolder;

TEST_CASE("an absolute path has no dots and no slash at its end; an empty one is nobody's") {
  CHECK(absolute_path("/a/./b/../c/") == "/a/c");
  CHECK(absolute_path("/") == "/");
  CHECK(absolute_path("x").ends_with("/x"));
  CHECK_THROWS_AS(static_cast<void>(absolute_path("")), Error);
}

TEST_CASE("files are written, appended to, cut, linked and removed") {
  const TempFolder dir;
  FileSystem& files = real_files();
  const std::string a = (dir / "a"), b = (dir / "b");
  {
    const auto f = files.open(a, OpenMode::create);
    f->write("hello ");
    f->write("world");
    f->sync();
    f->close();
  }
  CHECK_THROWS_AS(files.open(a, OpenMode::create), Error);
  {
    const auto f = files.open(a, OpenMode::append);
    f->truncate(5);
    f->write("!");
  }
  CHECK(files.read_file(a) == "hello!");
  CHECK(files.read_at(a, 4, 100) == "o!");
  CHECK(files.read_at(a, 1, 2) == "el");
  CHECK(files.read_at(a, 99, 2).empty());
  CHECK(files.link(a, b));
  CHECK_FALSE(files.link(a, b));
  CHECK(files.list(dir.path()) == std::vector<std::string>{"a", "b"});
  CHECK(files.stat(a)->size == 6);
  CHECK(files.stat(a)->inode == files.stat(b)->inode);
  CHECK(files.unlink(b));
  CHECK_FALSE(files.unlink(b));
  CHECK_FALSE(files.stat(b).has_value());
  CHECK(files.mkdir((dir / "d")));
  CHECK_FALSE(files.mkdir((dir / "d")));
  make_dirs(files, (dir / "d/e/f"));
  CHECK(files.stat((dir / "d/e/f"))->directory);
  CHECK_THROWS_AS(make_dirs(files, a), Error);
  CHECK_THROWS_AS(files.read_file((dir / "none")), Error);
  CHECK(files.read_file("/proc/self/stat").size() > 10);
}

TEST_CASE("paths") {
  CHECK(parent_path("a/b") == "a");
  CHECK(parent_path("a") == ".");
  CHECK(parent_path("/a") == "/");
  CHECK(parent_path("a/b/") == "a");
  CHECK(file_name("a/b/") == "b");
  CHECK(join_path("a", "b") == "a/b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path("a", "/b") == "/b");
}

TEST_CASE("a lock has one holder") {
  const TempFolder dir;
  auto first = FileLock::try_lock((dir / "lock"));
  REQUIRE(first.has_value());
  CHECK_FALSE(FileLock::try_lock((dir / "lock")).has_value());
  first.reset();
  CHECK(FileLock::try_lock((dir / "lock")).has_value());
}

TEST_CASE("an atomic write leaves the old or the new contents at every crash point") {
  std::int64_t calls = 0;
  {
    const TempFolder dir;
    FaultFiles counting(real_files(), Fault::none, 0);
    atomic_write(counting, (dir / "x"), "new");
    calls = counting.calls();
    CHECK(calls == 6);
  }
  for (const Fault fault : {Fault::stop, Fault::lose, Fault::no_space, Fault::io_error}) {
    bool renamed = false;
    for (std::int64_t at = 1; at <= calls; ++at) {
      CAPTURE(at);
      const TempFolder dir;
      atomic_write(real_files(), (dir / "x"), "old contents");
      FaultFiles files(real_files(), fault, at);
      try {
        atomic_write(files, (dir / "x"), "new");
      } catch (const Stop&) {
      } catch (const Error& error) {
        CHECK(error.category == Category::resource);
      }
      CHECK((files.hit() || fault == Fault::no_space));
      if (fault == Fault::lose) files.crash();
      const std::string now = real_files().read_file((dir / "x"));
      CHECK((now == "old contents" || now == "new"));
      // Once the new contents are seen, later crash points may not bring the old ones back.
      if (fault == Fault::stop) {
        CHECK((now == "new" || !renamed));
        renamed = renamed || now == "new";
      }
      // What was not synced is lost: before the directory's fsync the old name stands.
      if (fault == Fault::lose) CHECK(now == "old contents");
    }
  }
}

TEST_CASE("a careless write is caught: the layer drops what was not synced") {
  const TempFolder dir;
  atomic_write(real_files(), (dir / "x"), "old");
  FaultFiles files(real_files(), Fault::lose, 4);
  try {
    const auto f = files.open((dir / "x.tmp"), OpenMode::truncate);
    f->write("new");  // no fsync before the rename
    files.rename((dir / "x.tmp"), (dir / "x"));
    files.sync_dir(dir.path());
    files.note("after");
    FAIL("the fourth call stops");
  } catch (const Stop& stop) {
    CHECK(stop.where.starts_with("sync_dir"));
  }
  CHECK_THROWS_AS(files.note("dead"), Stop);
  files.crash();
  CHECK(real_files().read_file((dir / "x")) == "old");
  CHECK(real_files().list(dir.path()) == std::vector<std::string>{"x"});

  FaultFiles again(real_files(), Fault::lose, 5);
  try {
    const auto f = again.open((dir / "x.tmp"), OpenMode::truncate);
    f->write("new");
    again.rename((dir / "x.tmp"), (dir / "x"));
    again.sync_dir(dir.path());
    again.note("here");
  } catch (const Stop&) {
  }
  again.crash();
  CHECK(real_files().read_file((dir / "x")).empty());  // the name is durable, the contents are not
}

TEST_CASE("a lost directory takes its files along") {
  const TempFolder dir;
  FaultFiles files(real_files(), Fault::lose, 5);
  try {
    files.mkdir((dir / "run"));
    const auto f = files.open((dir / "run/a"), OpenMode::create);
    f->sync();
    files.sync_dir((dir / "run"));
    files.note("here");
  } catch (const Stop&) {
  }
  files.crash();
  CHECK(real_files().list(dir.path()).empty());
}
