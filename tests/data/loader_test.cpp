// Loader: order, digests and bytes never depend on workers or prefetch; errors come at their batch.
#include <doctest/doctest.h>

#include <set>

#include "data/datasets.h"
#include "lockstep/io/tensor_bytes.h"
#include "print.h"

using namespace lockstep;
using lockstep::test::AddNoise;
using lockstep::test::Counted;

namespace {

using Transforms = std::vector<std::unique_ptr<Transform>>;

Transforms noise(int n) {
  Transforms t;
  for (int i = 0; i < n; ++i) t.push_back(std::make_unique<AddNoise>());
  return t;
}

// All of a batch that can be compared.
struct Seen {
  std::int64_t step, epoch;
  std::vector<std::int64_t> samples;
  Nh128 digest;
  std::string input, target;
  bool operator==(const Seen&) const = default;
};
Seen seen(const Batch& b) {
  return {b.step, b.epoch, b.samples, b.digest, bytes_of(b.fields.at("input")), bytes_of(b.fields.at("target"))};
}
std::vector<Seen> take(Loader& loader, int n) {
  std::vector<Seen> out;
  Batch b;
  for (int i = 0; i < n && loader.next(b); ++i) out.push_back(seen(b));
  return out;
}

LoaderConfig config(std::int64_t workers, std::int64_t prefetch) {
  LoaderConfig c;
  c.batch_size = 8;
  c.eval_batch_size = 7;
  c.workers = workers;
  c.prefetch = prefetch;
  return c;
}

}  // namespace

TEST_CASE("batches are equal for any number of workers and any prefetch") {
  const Counted data(45, -1, std::chrono::microseconds(30));
  for (const int stages : {0, 1, 2, 3}) {
    const Transforms t = noise(stages);
    Loader plain(data, t, config(0, 2), 1, Pass::training);
    const std::vector<Seen> expected = take(plain, 20);
    REQUIRE(expected.size() == 20);
    for (const std::int64_t workers : {1, 2, 4}) {
      for (const std::int64_t prefetch : {0, 1, 2, 5}) {
        CAPTURE(workers);
        CAPTURE(prefetch);
        Loader loader(data, t, config(workers, prefetch), 1, Pass::training);
        const bool equal = take(loader, 20) == expected;
        CHECK(equal);
      }
    }
  }
}

TEST_CASE("rows split over several workers digest as one") {
  // Rows large enough that a batch is cut into chunks; bytes no multiple of 8, so records are padded.
  const auto data = test::dataset("{name: synthetic, size: 50, shape: [1001], num_classes: 3}");
  LoaderConfig c = config(0, 2);
  c.batch_size = 17;
  Loader plain(*data, {}, c, 5, Pass::training);
  const std::vector<Seen> expected = take(plain, 9);
  for (const std::int64_t workers : {1, 2, 3, 4}) {
    c.workers = workers;
    Loader loader(*data, {}, c, 5, Pass::training);
    const bool equal = take(loader, 9) == expected;
    CHECK(equal);
  }
}

TEST_CASE("the digest is the documented sum over records") {
  const Counted data(10);
  LoaderConfig c = config(0, 0);
  c.batch_size = 4;
  Loader loader(data, {}, c, 3, Pass::training);
  Batch b;
  REQUIRE(loader.next(b));
  const std::string input = bytes_of(b.fields.at("input")), target = bytes_of(b.fields.at("target"));
  Nh128 sum;
  for (std::uint64_t r = 0; r < 4; ++r) {
    sum += nh128(std::as_bytes(std::span(input)).subspan(r * 3, 3), r * 2);          // 3 bytes occupy 2 words
    sum += nh128(std::as_bytes(std::span(target)).subspan(r * 8, 8), 4 * 2 + r * 2);
  }
  CHECK(b.digest == sum);
}

TEST_CASE("an epoch holds every sample once, and epochs differ") {
  const Counted data(45);
  Loader loader(data, {}, config(2, 2), 7, Pass::training);
  CHECK(loader.steps_per_epoch() == 6);
  CHECK(loader.size() == 45);
  std::vector<std::vector<std::int64_t>> orders;
  Batch b;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t>& order = orders.emplace_back();
    for (int n = 0; n < 6; ++n) {
      REQUIRE(loader.next(b));
      CHECK(b.step == epoch * 6 + n);
      CHECK(b.epoch == epoch);
      CHECK(b.fields.size() == (n < 5 ? 8 : 5));
      CHECK(b.fields.at("input").shape() == Shape{n < 5 ? 8 : 5, 3});
      CHECK(b.fields.at("target").shape() == Shape{n < 5 ? 8 : 5});
      order.insert(order.end(), b.samples.begin(), b.samples.end());
      for (std::size_t r = 0; r < b.samples.size(); ++r) {
        CHECK(b.fields.at("target").to_doubles()[r] == static_cast<double>(b.samples[r]));
      }
    }
    CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == 45);
  }
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
  Loader other(data, {}, config(0, 2), 8, Pass::training);
  std::vector<std::int64_t> order;
  for (int n = 0; n < 6; ++n) {
    other.next(b);
    order.insert(order.end(), b.samples.begin(), b.samples.end());
  }
  CHECK(order != orders[0]);
}

TEST_CASE("seek gives exactly the batch that a whole run would have given") {
  const Counted data(45, -1, std::chrono::microseconds(20));
  const Transforms t = noise(1);
  Loader whole(data, t, config(0, 2), 1, Pass::training);
  const std::vector<Seen> expected = take(whole, 40);
  for (const std::int64_t workers : {0, 1, 3}) {
    Loader loader(data, t, config(workers, 3), 1, Pass::training);
    for (const std::int64_t step : {17, 5, 6, 0, 30, 30, 3}) {
      loader.seek(step);
      const auto at = static_cast<std::ptrdiff_t>(step);
      const bool equal = take(loader, 4) == std::vector<Seen>(expected.begin() + at, expected.begin() + at + 4);
      CHECK(equal);
    }
    CHECK_THROWS_AS(loader.seek(-1), Error);
  }
}

TEST_CASE("drop_last drops, and an epoch without a batch is an error") {
  const Counted data(45);
  LoaderConfig c = config(0, 2);
  c.drop_last = true;
  Loader loader(data, {}, c, 1, Pass::training);
  CHECK(loader.steps_per_epoch() == 5);
  for (const Seen& s : take(loader, 12)) CHECK(s.samples.size() == 8);
  c.batch_size = 46;
  CHECK_THROWS_WITH_AS(Loader(data, {}, c, 1, Pass::training), doctest::Contains("45 samples and batch_size is 46"), Error);
  c.drop_last = false;
  Loader one(data, {}, c, 1, Pass::training);
  CHECK(one.steps_per_epoch() == 1);
  CHECK(take(one, 1)[0].samples.size() == 45);
  c.batch_size = 0;
  CHECK_THROWS_WITH_AS(Loader(data, {}, c, 1, Pass::training), "a batch size of 0: it must be at least 1", Error);
  c.batch_size = 8;
  CHECK_THROWS_WITH_AS(Loader(data, {}, config(-1, 2), 1, Pass::training), "workers -1 and prefetch 2: neither may be negative", Error);
  const Counted none(0);
  CHECK_THROWS_WITH_AS(Loader(none, {}, c, 1, Pass::training), doctest::Contains("no samples"), Error);
}

TEST_CASE("without shuffling the order is the dataset's; an evaluation pass ends and can be repeated") {
  const Counted data(20);
  LoaderConfig c = config(2, 4);
  c.shuffle = false;
  Loader training(data, {}, c, 1, Pass::training);
  CHECK(take(training, 1)[0].samples == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  for (const std::int64_t workers : {0, 1, 4}) {
    c.workers = workers;
    c.shuffle = true;
    Loader pass(data, {}, c, 1, Pass::evaluation);
    CHECK(pass.steps_per_epoch() == 3);
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<std::int64_t> order;
      Batch b;
      while (pass.next(b)) order.insert(order.end(), b.samples.begin(), b.samples.end());
      CHECK(!pass.next(b));
      REQUIRE(order.size() == 20);
      for (std::size_t i = 0; i < 20; ++i) CHECK(order[i] == static_cast<std::int64_t>(i));
      pass.seek(0);
    }
    pass.seek(3);
    Batch b;
    CHECK(!pass.next(b));
    CHECK_THROWS_AS(pass.seek(4), Error);
  }
}

TEST_CASE("a batch stays as it is until the next but one is delivered") {
  const Counted data(64);
  for (const std::int64_t workers : {0, 2}) {
    Loader loader(data, {}, config(workers, 2), 1, Pass::training);
    Batch before, now;
    REQUIRE(loader.next(before));
    for (int i = 0; i < 30; ++i) {
      const Seen then = seen(before);
      const std::uint64_t version = before.fields.at("input").version();
      REQUIRE(loader.next(now));
      CHECK(seen(before) == then);
      CHECK(before.fields.at("input").version() == version);
      std::swap(before, now);
    }
  }
}

TEST_CASE("errors come at their batch, with the sample and its place") {
  for (const std::int64_t workers : {0, 1, 3}) {
    for (const std::int64_t broken : {21, -31}) {   // -31: sample 21 throws something that is no Error
      const Counted data(40, broken);
      LoaderConfig c = config(workers, 3);
      c.shuffle = false;
      Loader loader(data, {}, c, 1, Pass::training);
      Batch b;
      CHECK(loader.next(b));
      CHECK(loader.next(b));
      for (int again = 0; again < 2; ++again) {
        try {
          const Frame frame("while training");
          loader.next(b);
          FAIL("nothing was thrown");
        } catch (const Error& e) {
          CHECK(e.category == (broken > 0 ? Category::data : Category::internal));
          const std::string whole = text(e);
          INFO(whole);
          CHECK(whole.find("while preparing sample 21 (row 21) of batch 2, epoch 0") != std::string::npos);
          CHECK(whole.find("while training") != std::string::npos);
        }
      }
      loader.seek(3);
      CHECK(loader.next(b));
      CHECK(b.samples.front() == 24);
    }
  }
}

TEST_CASE("a loader can be destroyed while its workers are busy, asleep or not started") {
  const Counted slow(100, -1, std::chrono::microseconds(2000));
  for (int i = 0; i < 20; ++i) {
    Loader loader(slow, {}, config(3, 4), 1, Pass::training);
    Batch b;
    for (int n = 0; n < i % 3; ++n) loader.next(b);
    if (i % 4 == 3) loader.seek(5);
  }
  const Counted quick(100);
  Loader loader(quick, {}, config(2, 4), 1, Pass::training);
  Batch b;
  loader.next(b);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(loader.next(b));
  CHECK(loader.wait_seconds() >= 0);
}

TEST_CASE("a sample that is not what its spec says is an error of ours") {
  struct Liar final : Transform {
    SampleSpec spec(const SampleSpec& in) const override { return in; }
    void apply(Sample& s, PhiloxKey) const override { s.rewrite(0, Shape{2}, DType::u8); }
  };
  Transforms t;
  t.push_back(std::make_unique<Liar>());
  const Counted data(10);
  Loader loader(data, t, config(0, 0), 1, Pass::training);
  Batch b;
  CHECK_THROWS_WITH_AS(loader.next(b), doctest::Contains("uint8 [2]"), Error);
}
