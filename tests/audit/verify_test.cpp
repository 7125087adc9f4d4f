// Verify: repeats agree with what was recorded, and what was changed since is named, not measured.
#include "lockstep/audit/verify.h"

#include "lockstep/state/chain.h"
#include "runtime/runs.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

std::vector<Variant> two_variants() {
  return {{.threads = 2, .workers = 1, .isa = Isa::avx2, .shards_per_pass = 1, .resume_at = 3}, {.threads = 3, .workers = 0, .isa = Isa::scalar, .shards_per_pass = 2}};
}
VerifyResult verify_last(const Place& place, std::vector<std::string> overrides = {}) {
  const Store store = store_of(place);
  return verify_run(place.runs(), store.find_run("last"), overrides, 0, two_variants(), [](const VariantResult&) {});
}

/// Writes the chain anew from record `t` on with another loss there: links that hold, and another story.
void rewrite_chain(const std::string& path, std::int64_t t) {
  FileSystem& files = real_files();
  std::vector<ChainRecord> records = read_chain(files, path, 0, *chain_steps(files, path) + 1);
  records[static_cast<std::size_t>(t)].loss_bits ^= 1;
  for (auto i = static_cast<std::size_t>(t); i < records.size(); ++i) {
    const ChainRecord& r = records[i];
    records[i] = chain_next(records[i - 1], r.batch, std::bit_cast<double>(r.loss_bits), std::bit_cast<double>(r.grad_norm_bits), r.fingerprint);
  }
  put(path, {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(ChainRecord)});
}

}  // namespace

TEST_CASE("a recorded run, and a child with its parent before it, are repeated step by step") {
  const Place place;
  const auto parent = go(place.config({"train.max_steps=4"}), place);
  VerifyResult r = verify_last(place);
  CHECK(r.equal);
  CHECK(r.steps == 4);
  CHECK(r.variants.size() == 2);
  CHECK(r.state_hash == parent.state_hash);
  const auto child = fork_of(place.config({"optim={name: sgd, lr: 0.02, momentum: 0.9}"}), place, parent.run);
  r = verify_last(place);
  CHECK(r.equal);
  CHECK(r.steps == 6);
  CHECK(r.reference == "run " + child.run);
  CHECK(r.state_hash == child.state_hash);
}

TEST_CASE("a chain that was changed: exit 6 where its links break; the step where they hold and the story differs") {
  const Place place;
  const auto run = go(place.config(), place);
  const std::string path = paths(place, run.run).chain(), whole = real_files().read_file(path);
  std::string changed = whole;
  changed[2 * sizeof(ChainRecord) + 20] ^= 1;   // the batch digest of step 2
  put(path, changed);
  const Error e = error_of([&] { verify_last(place); });
  CHECK(e.category == Category::mismatch);
  CHECK(e.message.find("record 2 of ") != std::string::npos);

  put(path, whole);
  rewrite_chain(path, 5);
  const VerifyResult r = verify_last(place);
  CHECK_FALSE(r.equal);
  for (const auto& v : r.variants) {
    CHECK_FALSE(v.equal);
    CHECK(v.difference == "step 5: loss");
  }
}

TEST_CASE("a config or data files that are no longer those of the run: exit 3, before anything is repeated") {
  const Place place;
  const IdxData data(place);
  const auto run = go(place.config({}, data.yaml), place);
  CHECK(verify_last(place).equal);

  data.set("train", 24, 1);
  CHECK(error_of([&] { verify_last(place); }).category == Category::data);
  data.set("train", 24, 0);

  const std::string path = paths(place, run.run).config(), config = real_files().read_file(path);
  std::string edited = config;
  edited.replace(edited.find("lr: 0.01"), 8, "lr: 0.02");
  put(path, edited);
  const Error e = error_of([&] { verify_last(place); });
  CHECK(e.category == Category::data);
  CHECK(e.message.find("optim.lr: 0.01 there, 0.02 now") != std::string::npos);
  put(path, config);

  // Data may have moved; overrides say where to, and nothing else.
  std::filesystem::rename(place.path() + "/data", place.path() + "/moved");
  const std::string root = "root=" + place.path() + "/moved";
  CHECK(verify_last(place, {"data.train." + root, "data.val." + root}).equal);
  CHECK(error_of([&] { verify_last(place, {"data.train." + root, "data.val." + root, "seed=3"}); }).category == Category::usage);
}
