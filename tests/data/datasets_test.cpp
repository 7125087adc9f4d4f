// synthetic, normalize, fields, preflight checks, manifests.
#include <doctest/doctest.h>

#include <cmath>

#include "data/datasets.h"
#include "lockstep/data/manifest.h"
#include "lockstep/io/tensor_bytes.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::Counted;
using lockstep::test::TempFolder;

namespace {

Batch first_batch(const Dataset& d, std::span<const std::unique_ptr<Transform>> t, std::int64_t n) {
  LoaderConfig c;
  c.eval_batch_size = n;
  Loader loader(d, t, c, 0, Pass::evaluation);
  Batch b;
  REQUIRE(loader.next(b));
  return b;
}

void put(const std::string& path, std::string_view bytes) {
  const auto file = real_files().open(path, OpenMode::truncate);
  file->write(bytes);
  file->close();
}

}  // namespace

TEST_CASE("synthetic data is a function of its config and split, with a teacher in common") {
  const std::string yaml = "{name: synthetic, size: 400, shape: [2, 5], num_classes: 3, noise: 0}";
  const auto train = test::dataset(yaml), again = test::dataset(yaml), val = test::dataset(yaml, "val");
  const Batch a = first_batch(*train, {}, 400), b = first_batch(*again, {}, 400), v = first_batch(*val, {}, 400);
  CHECK(a.digest == b.digest);
  CHECK(!(a.digest == v.digest));
  CHECK(a.fields.at("input").shape() == Shape{400, 2, 5});
  std::array<int, 3> counts{};
  for (const double label : a.fields.at("target").to_doubles()) ++counts.at(static_cast<std::size_t>(label));
  for (const int n : counts) CHECK(n > 20);
  check_targets(*train, "train");
  CHECK(train->manifest().digest() == again->manifest().digest());
  CHECK(train->manifest().digest() != val->manifest().digest());
  const auto other = test::dataset("{name: synthetic, size: 400, shape: [2, 5], num_classes: 3, noise: 0, seed: 1}");
  CHECK(!(first_batch(*other, {}, 400).digest == a.digest));
  // Inputs look standard normal.
  double sum = 0, squares = 0;
  for (const double x : a.fields.at("input").to_doubles()) {
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 4000) < 0.06);
  CHECK(std::abs(squares / 4000 - 1) < 0.1);
}

TEST_CASE("synthetic regression has one real target") {
  const auto d = test::dataset("{name: synthetic, size: 7, num_classes: 0}");
  const Batch b = first_batch(*d, {}, 10);
  CHECK(b.fields.at("target").shape() == Shape{7, 1});
  CHECK(b.fields.at("target").dtype() == DType::f32);
  CHECK(!d->label(0));
  CHECK_THROWS_AS(test::dataset("{name: synthetic, size: 1000000, shape: [100000]}"), Error);
}

TEST_CASE("normalize: the documented expression, per channel, on bytes and floats") {
  Counted data(9);
  data.spec_.fields[0].shape = Shape{3};
  std::vector<std::unique_ptr<Transform>> t;
  t.push_back(test::transform("{name: normalize, mean: [0.1, 0.2, 0.3], std: [0.5, 2, 0.25]}"));
  const Batch b = first_batch(data, t, 9);
  const Tensor& x = b.fields.at("input");
  CHECK(x.dtype() == DType::f32);
  const double means[] = {0.1, 0.2, 0.3}, deviations[] = {0.5, 2, 0.25};
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const auto raw = static_cast<float>(static_cast<std::uint8_t>((c + 1) * i));
      const float scale = static_cast<float>(1.0 / (255.0 * deviations[c])), shift = static_cast<float>(-means[c] / deviations[c]);
      const volatile float product = raw * scale;
      CHECK(x.values<float>()[i * 3 + c] == product + shift);
    }
  }
  // The second one works on the floats of the first, in place.
  t.push_back(test::transform("{name: normalize, mean: [1], std: [4]}"));
  const Batch twice = first_batch(data, t, 9);
  const std::vector<double> once = b.fields.at("input").to_doubles(), both = twice.fields.at("input").to_doubles();
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(both[i] == doctest::Approx((once[i] - 1) / 4).epsilon(1e-6));
  CHECK(bytes_of(twice.fields.at("target")) == bytes_of(b.fields.at("target")));
}

TEST_CASE("normalize works on long rows and on images") {
  const auto d = test::dataset("{name: synthetic, size: 3, shape: [2, 37], num_classes: 2}");
  std::vector<std::unique_ptr<Transform>> t;
  const Batch raw = first_batch(*d, t, 3);
  t.push_back(test::transform("{name: normalize, mean: [1, -1], std: [0.5, 2]}"));
  const Batch b = first_batch(*d, t, 3);
  const auto before = raw.fields.at("input").values<float>(), after = b.fields.at("input").values<float>();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool first = i / 37 % 2 == 0;
    const volatile float product = before[i] * (first ? 2.0f : 0.5f);
    CHECK(after[i] == product + (first ? -2.0f : 0.5f));
  }
}

TEST_CASE("normalize refuses what it cannot do") {
  CHECK_THROWS_AS(test::transform("{name: normalize, std: [0]}"), Error);
  CHECK_THROWS_AS(test::transform("{name: normalize, std: [-1]}"), Error);
  CHECK_THROWS_AS(test::transform("{name: normalize, std: [1e-300]}"), Error);
  CHECK_THROWS_AS(test::transform("{name: normalize, mean: [1, 2], std: [1, 2, 3]}"), Error);
  CHECK_THROWS_AS(test::transform("{name: normalize, mean: []}"), Error);
  const Counted data(3);
  const auto two = test::transform("{name: normalize, mean: [1, 2], std: [1]}");
  CHECK_THROWS_WITH_AS(static_cast<void>(two->spec(data.spec())), doctest::Contains("2 channels, and field 'input' of shape [3] has 3"), Error);
  SampleSpec ids = data.spec();
  ids.fields[0].dtype = DType::i64;
  CHECK_THROWS_WITH_AS(static_cast<void>(test::transform("normalize")->spec(ids)), doctest::Contains("it works on uint8 and float32"), Error);
}

TEST_CASE("what the training split has, every split must have; normalize needs an input") {
  const Counted data(3);
  SampleSpec other = data.spec();
  other.fields.pop_back();
  CHECK_THROWS_WITH_AS(check_class_map(data.spec(), other, "val"), "val has no field 'target', which the training split has", Error);
  other = data.spec();
  other.fields.erase(other.fields.begin());
  CHECK_THROWS_WITH_AS(static_cast<void>(test::transform("normalize")->spec(other)), "normalize: the samples have no input field to work on", Error);
}

TEST_CASE("targets outside the classes are found with their sample") {
  Counted data(10);
  check_targets(data, "train");
  data.spec_.fields[1].num_classes = 6;
  CHECK_THROWS_WITH_AS(check_targets(data, "train"), doctest::Contains("train: sample 6 (row 6) has the class index 6"), Error);
  data.spec_.fields[1].num_classes = 0;
  check_targets(data, "train");
}

TEST_CASE("fields: rows are views, unknown names are listed") {
  Fields f;
  f.set("input", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  f.set("target", Tensor::of<std::int64_t>({7, 8, 9}, {3}));
  f.set("target", Tensor::of<std::int64_t>({1, 2, 3}, {3}));
  CHECK(f.size() == 3);
  const Fields part = f.rows(1, 3);
  CHECK(part.size() == 2);
  CHECK(part.at("input").to_doubles() == std::vector<double>{3, 4, 5, 6});
  CHECK(part.at("target").to_doubles() == std::vector<double>{2, 3});
  CHECK(part.at("input").same_storage(f.at("input")));
  CHECK(f.rows(2, 2).size() == 0);
  CHECK_THROWS_WITH_AS(static_cast<void>(f.at("mask")), doctest::Contains("there are: 'input', 'target'"), Error);
  CHECK_THROWS_AS(static_cast<void>(f.rows(2, 4)), Error);
}

TEST_CASE("a manifest's digest covers names and contents, not where the files lie") {
  const TempFolder a, b;
  for (const TempFolder* folder : {&a, &b}) {
    put(*folder / "x", "hello");
    put(*folder / "y", std::string(3'000'000, 'z'));
  }
  const auto manifest = [](const TempFolder& folder) {
    Manifest m;
    m.root = folder.path();
    m.files = {{"x", 5, {}}, {"y", 3'000'000, {}}};
    return m;
  };
  const Digest base = manifest(a).digest();
  CHECK(manifest(b).digest() == base);
  Manifest swapped = manifest(a);
  std::swap(swapped.files[0], swapped.files[1]);
  CHECK(swapped.digest() == base);
  put(b / "x", "hellO");
  CHECK(manifest(b).digest() != base);
  put(b / "x", "hello!");
  CHECK_THROWS_WITH_AS(static_cast<void>(manifest(b).digest()), doctest::Contains("has 6 bytes, and had 5"), Error);
  real_files().unlink(b / "x");
  CHECK_THROWS_WITH_AS(static_cast<void>(manifest(b).digest()), doctest::Contains("is gone"), Error);
  CHECK(file_digest(a / "x") == sha256("hello"));
}

TEST_CASE("the cache spares a second reading and notices a changed file") {
  const TempFolder folder;
  put(folder / "x", "hello");
  Manifest m;
  m.root = folder.path();
  m.files = {{"x", 5, {}}};
  const std::string path = folder / "cache/manifests.json";
  {
    ManifestHasher hasher({{"train", m}, {"val", m}}, path);
    CHECK(hasher.digests().at("train") == m.digest());
    CHECK(hasher.digests().at("val") == m.digest());
    CHECK(hasher.manifests().at("train").files[0].sha256 == sha256("hello"));
    CHECK(hasher.ready());
  }
  const FileStat stat = *real_files().stat(folder / "x");
  ManifestCache cache(path);
  CHECK(cache.find(folder / "x", stat) == sha256("hello"));
  FileStat touched = stat;
  ++touched.mtime_ns;
  CHECK(!cache.find(folder / "x", touched));
  put(path, "not json");
  CHECK(!ManifestCache(path).find(folder / "x", stat));
  m.files[0].size = 6;
  ManifestHasher wrong({{"train", m}}, "");
  CHECK_THROWS_AS(static_cast<void>(wrong.digests()), Error);
  ManifestHasher abandoned({{"train", m}}, "");
}
