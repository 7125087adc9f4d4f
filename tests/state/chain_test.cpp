// chain.bin: records, truncation, the first step at which two runs part.
#include <doctest/doctest.h>

#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/state/chain.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::TempFolder;

namespace {

// Records 1 .. n; at `odd` the loss differs.
std::vector<ChainRecord> records(std::int64_t n, std::int64_t odd = 0) {
  std::vector<ChainRecord> out;
  ChainRecord last = chain_start();
  for (std::int64_t t = 1; t <= n; ++t) {
    const auto u = static_cast<std::uint64_t>(t);
    last = chain_next(last, {u * 3, u * 5}, static_cast<double>(t) + (t == odd ? 0.5 : 0), 0.25, {u, u + 1});
    out.push_back(last);
  }
  return out;
}

}  // namespace

TEST_CASE("the seal covers the bytes that are documented") {
  const ChainRecord start = chain_start();
  const ChainRecord r = chain_next(start, {1, 2}, 1.5, std::nan("7"), {3, 4});
  Sha256 sha;
  sha.update(std::string(32, '\0'));
  sha.update_value(std::uint64_t{1}).update_value(std::uint64_t{1}).update_value(std::uint64_t{2});
  sha.update_value(1.5).update_value(std::uint64_t{0x7ff8000000000000});
  sha.update_value(std::uint64_t{3}).update_value(std::uint64_t{4});
  CHECK(r.h == sha.digest());
  CHECK(r.t == 1);
}

TEST_CASE("append, read, truncate") {
  const TempFolder folder;
  const std::string path = folder / "chain.bin";
  const std::vector<ChainRecord> all = records(10);
  CHECK(!chain_steps(real_files(), path));
  append_chain(real_files(), path, std::span(all).first(4));
  append_chain(real_files(), path, std::span(all).subspan(4));
  append_chain(real_files(), path, {});
  CHECK(chain_steps(real_files(), path) == 10);
  CHECK(real_files().stat(path)->size == 11 * sizeof(ChainRecord));
  CHECK(read_chain(real_files(), path, 0) == chain_start());
  for (std::int64_t t = 1; t <= 10; ++t) CHECK(read_chain(real_files(), path, t) == all[static_cast<std::size_t>(t - 1)]);
  CHECK(read_chain(real_files(), path, 3, 6).size() == 3);
  CHECK_THROWS_AS(read_chain(real_files(), path, 11), Error);
  CHECK_THROWS_AS(read_chain(real_files(), path, -1), Error);
  CHECK(!broken_link(real_files(), path));
  CHECK_THROWS_AS(append_chain(real_files(), path, std::span(all).first(1)), Error);

  // A torn record does not count, and must be cut before anything is appended.
  {
    const auto file = real_files().open(path, OpenMode::append);
    file->write(std::string(40, 'x'));
    file->close();
  }
  CHECK(chain_steps(real_files(), path) == 10);
  truncate_chain(real_files(), path, 6);
  CHECK(chain_steps(real_files(), path) == 6);
  CHECK(real_files().stat(path)->size == 7 * sizeof(ChainRecord));
  append_chain(real_files(), path, std::span(all).subspan(6));
  CHECK(!broken_link(real_files(), path));
  CHECK_THROWS_AS(truncate_chain(real_files(), path, 11), Error);
}

TEST_CASE("two chains part at the first step that differs") {
  const TempFolder folder;
  const std::string a = folder / "a", b = folder / "b";
  append_chain(real_files(), a, records(100));
  for (const std::int64_t odd : {1, 2, 50, 99, 100}) {
    append_chain(real_files(), b, records(100, odd));
    const auto d = compare_chains(real_files(), a, b);
    REQUIRE(d);
    CHECK(d->t == odd);
    CHECK(d->what == "loss");
    real_files().unlink(b);
  }
  append_chain(real_files(), b, records(60));
  const auto shorter = compare_chains(real_files(), a, b);
  REQUIRE(shorter);
  CHECK(shorter->t == 61);
  CHECK(shorter->what == "length");
  CHECK(shorter->a.has_value());
  CHECK(!shorter->b.has_value());
  CHECK(!compare_chains(real_files(), a, a));
}

TEST_CASE("a changed record and a foreign file are noticed") {
  const TempFolder folder;
  const std::string path = folder / "chain.bin";
  std::vector<ChainRecord> all = records(20);
  all[11].loss_bits ^= 1;
  append_chain(real_files(), path, all);
  CHECK(broken_link(real_files(), path) == 12);
  const auto file = real_files().open(folder / "other", OpenMode::create);
  file->write(std::string(500, 'x'));
  file->close();
  CHECK_THROWS_WITH_AS(chain_steps(real_files(), folder / "other"), doctest::Contains("is not a chain file"), Error);
}
