// Child runs: what --fork copies, and what a child does that died early.
#include "runtime/runs.h"

#include "lockstep/runtime/probe.h"

using namespace lockstep;
using namespace lockstep::test;

TEST_CASE("--fork: a child that names its parent, with the parent's chain before its own") {
  const Place place;
  const auto parent = go(place.config({"train.max_steps=4"}), place);
  const LoadedConfig config = place.config({"optim.lr=0.02"});
  const auto child = fork_of(config, place, parent.run);
  const RunRow row = *store_of(place).run(child.run);
  REQUIRE(row.parent);
  CHECK(row.parent->run == parent.run);
  CHECK(row.parent->step == 4);
  CHECK(row.parent->hash == parent.state_hash);
  const std::string a = real_files().read_file(paths(place, parent.run).chain()), b = real_files().read_file(paths(place, child.run).chain());
  CHECK(b.substr(0, a.size()) == a);
  CHECK(b.size() == a.size() / 5 * 7);
  CHECK(child.chain_hash != reference().chain);
  CHECK(go(config, place, ResumeMode::automatic).already_complete);
}

TEST_CASE("a child that dies at any call goes on from its parent's state, never from step 0") {
  const Place origin;
  const auto parent = go(origin.config({"train.max_steps=4"}), origin);
  std::string expected;
  std::int64_t calls = 0;
  for (std::int64_t n = 0; n <= calls; n += n < 40 ? 1 : 7) {
    CAPTURE(n);
    const Place place;
    std::filesystem::copy(origin.runs(), place.runs(), std::filesystem::copy_options::recursive);
    const LoadedConfig config = place.config({"optim.lr=0.02"});
    FaultFiles files(real_files(), n == 0 ? Fault::none : Fault::stop, n);
    try {
      const auto child = fork_of(config, place, parent.run, &files);
      expected = child.chain_hash;
    } catch (const Stop&) {
    }
    if (n == 0) calls = files.calls();
    Store store = store_of(place);
    static_cast<void>(reap(store, real_files(), checkpoint_probe(real_files())));
    const auto runs = store.runs("tiny");
    if (runs.size() == 1) continue;   // it never got its run.json
    REQUIRE(runs.size() == 2);
    Recorder seen;
    const auto r = go(config, place, seen, ResumeMode::automatic);
    CHECK(r.run != parent.run);
    if (n > 0 && !r.already_complete) CHECK(seen.started_at >= 4);
    CHECK(r.chain_hash == expected);
  }
}

TEST_CASE("a child that died before its first commit, and whose parent's checkpoint is gone: exit 3, what to do") {
  const Place origin;
  const auto parent = go(origin.config({"train.max_steps=4"}), origin);
  for (std::int64_t n = 1;; ++n) {
    REQUIRE(n < 200);
    const Place place;
    std::filesystem::copy(origin.runs(), place.runs(), std::filesystem::copy_options::recursive);
    const LoadedConfig config = place.config({"optim.lr=0.02"});
    FaultFiles files(real_files(), Fault::stop, n);
    CHECK_THROWS_AS((void)fork_of(config, place, parent.run, &files), Stop);
    Store store = store_of(place);
    static_cast<void>(reap(store, real_files(), checkpoint_probe(real_files())));
    if (store.runs("tiny").size() == 1) continue;
    std::filesystem::remove_all(paths(place, parent.run).checkpoints());
    const Error e = error_of([&] { go(config, place, ResumeMode::automatic); });
    CHECK(e.category == Category::data);
    INFO(e.message);
    CHECK(e.message.find("died before its first commit, and the parent has no checkpoint of that step any more") != std::string::npos);
    CHECK(e.message.find("--resume=" + parent.run + " --fork") != std::string::npos);
    break;
  }
}
