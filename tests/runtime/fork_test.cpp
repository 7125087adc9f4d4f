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

TEST_CASE("a child with another optimizer starts it as a whole: as if its weights were those of step 0") {
  const Place place;
  const auto parent = go(place.config({"optim={name: sgd, lr: 0.1, momentum: 0.9}", "train.max_steps=4"}), place);
  const auto child = fork_of(place.config({"train.max_steps=5", "optim.weight_decay=0"}), place, parent.run);
  CHECK(child.step == 5);
  // AdamW's first update without decay moves each weight that has a gradient by lr (to within eps): the bias correction
  // is that of update 1, not 5.
  const auto weights = [&](const std::string& run) {
    std::vector<double> out;
    for (const auto& t : read_checkpoint(real_files(), paths(place, run).last()).tensors)
      if (t.name.starts_with("model.")) std::ranges::copy(t.tensor.to_doubles(), std::back_inserter(out));
    return out;
  };
  const auto before = weights(parent.run), after = weights(child.run);
  REQUIRE(before.size() == after.size());
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) largest = std::max(largest, std::abs(after[i] - before[i]));
  CHECK(largest == doctest::Approx(0.01).epsilon(0.001));
}

TEST_CASE("a child's identity does not depend on run ids") {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    const Place place;
    const auto parent = go(place.config({"train.max_steps=4"}), place);
    const auto child = fork_of(place.config({"optim.lr=0.02"}), place, parent.run);
    const std::string identity = store_of(place).run(child.run)->identity, bytes = real_files().read_file(paths(place, child.run).last());
    if (i == 0) first = identity + bytes;
    else CHECK(identity + bytes == first);
  }
}
