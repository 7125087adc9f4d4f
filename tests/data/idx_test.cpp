// idx: files that are right, missing, cut short, damaged or not of one set.
#include <doctest/doctest.h>
#include <zlib.h>

#include "data/datasets.h"
#include "lockstep/base/file.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::TempFolder;

namespace {

std::string be(std::uint32_t v) {
  std::string s;
  for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(v >> shift & 0xff);
  return s;
}
std::string images(std::uint32_t n, std::uint32_t h = 2, std::uint32_t w = 3) {
  std::string s = std::string("\0\0\x08\x03", 4) + be(n) + be(h) + be(w);
  for (std::uint32_t i = 0; i < n * h * w; ++i) s += static_cast<char>(i * 7);
  return s;
}
std::string labels(std::string_view values) {
  std::string s = std::string("\0\0\x08\x01", 4) + be(static_cast<std::uint32_t>(values.size()));
  for (const char c : values) s += static_cast<char>(c - '0');
  return s;
}
void put(const std::string& path, std::string_view bytes) {
  const auto file = real_files().open(path, OpenMode::truncate);
  file->write(bytes);
  file->close();
}
std::string gzip(const std::string& path, std::string_view bytes) {
  gzFile f = gzopen(path.c_str(), "wb");
  gzwrite(f, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(f);
  return real_files().read_file(path);
}

// A folder with both pairs: 5 training samples of classes 0 to 3, 3 test samples.
struct Fixture {
  Fixture() {
    gzip(folder / "train-images-idx3-ubyte.gz", images(5));
    put(folder / "train-labels-idx1-ubyte", labels("01230"));
    put(folder / "t10k-images-idx3-ubyte", images(3));
    gzip(folder / "t10k-labels-idx1-ubyte.gz", labels("100"));
  }
  [[nodiscard]] std::string yaml(std::string_view more = "") const {
    return "{name: idx, root: " + folder.path() + std::string(more) + "}";
  }
  [[nodiscard]] std::string error(std::string_view more = "", std::string_view split = "train") const {
    try {
      test::dataset(yaml(more), split);
    } catch (const Error& e) {
      CHECK(e.category == Category::data);
      return e.message;
    }
    return "";
  }
  TempFolder folder;
};

bool says(const std::string& message, std::string_view part) {
  const bool found = message.find(part) != std::string::npos;
  if (!found) MESSAGE(message);
  return found;
}

}  // namespace

TEST_CASE("images and labels are read, plain or compressed") {
  const Fixture f;
  const auto train = test::dataset(f.yaml());
  CHECK(train->size() == 5);
  const SampleSpec& spec = train->spec();
  REQUIRE(spec.fields.size() == 2);
  CHECK(spec.fields[0].shape == Shape{1, 2, 3});
  CHECK(spec.fields[0].dtype == DType::u8);
  CHECK(spec.fields[1].dtype == DType::i64);
  CHECK(spec.fields[1].num_classes == 4);
  Sample s;
  for (std::size_t i = 0; i < 2; ++i) s.bind(i, nullptr, 0);
  s.start(spec);
  train->get(3, s);
  for (std::size_t j = 0; j < 6; ++j) CHECK(s.as<std::uint8_t>(0)[j] == static_cast<std::uint8_t>((18 + j) * 7));
  CHECK(*s.as<std::int64_t>(1) == 3);
  CHECK(train->where(3) == "train-images-idx3-ubyte.gz, image 3");
  const Manifest m = train->manifest();
  REQUIRE(m.files.size() == 2);
  CHECK(m.files[0].path == "train-images-idx3-ubyte.gz");
  CHECK(m.files[1].path == "train-labels-idx1-ubyte");
  CHECK(m.files[1].size == 13);
}

TEST_CASE("the class map comes from the training labels, whatever another split holds") {
  const Fixture f;
  const auto val = test::dataset(f.yaml(), "val");
  CHECK(val->size() == 3);
  CHECK(val->spec().fields[1].num_classes == 4);
  CHECK(val->manifest().files.size() == 3);
  check_class_map(test::dataset(f.yaml())->spec(), val->spec(), "val");
  CHECK(test::dataset(f.yaml(", split: train"), "val")->size() == 5);
  CHECK(test::dataset(f.yaml(", num_classes: 7"), "val")->spec().fields[1].num_classes == 7);
  const auto named = test::dataset(f.yaml(", class_names: [a, b, c, d]"), "val");
  CHECK(named->spec().fields[1].class_names.size() == 4);
  CHECK_THROWS_WITH_AS(check_class_map(test::dataset(f.yaml(", num_classes: 7"))->spec(), val->spec(), "val"),
                       doctest::Contains("7 classes in train and 4 in val"), Error);
  check_targets(*val, "val");
}

TEST_CASE("labels outside the class map name their sample") {
  const Fixture f;
  put(f.folder / "t10k-labels-idx1-ubyte", labels("105"));
  CHECK(says(f.error("", "val"), "t10k-labels-idx1-ubyte: sample 2 has the label 5, and with 4 classes"));
  CHECK(says(f.error(", num_classes: 3"), "sample 3 has the label 3"));
}

TEST_CASE("what is missing is named, with the way to get it") {
  const Fixture f;
  CHECK(says(f.error(", images: a, labels: b"), "there is neither"));
  real_files().unlink(f.folder / "train-labels-idx1-ubyte");
  CHECK(says(f.error(), "train-labels-idx1-ubyte.gz"));
  CHECK(says(f.error("", "val"), "write num_classes or class_names"));
  try {
    test::dataset("{name: idx, root: /no/such/folder}");
    FAIL("nothing was thrown");
  } catch (const Error& e) {
    CHECK(e.category == Category::data);
    CHECK(says(e.message, "there is no folder '/no/such/folder'"));
    CHECK(says(e.message, "dataset-fashion-mnist"));
  }
}

TEST_CASE("files of other names need the class count unless they are for training") {
  const Fixture f;
  put(f.folder / "i", images(2));
  put(f.folder / "l", labels("12"));
  CHECK(test::dataset(f.yaml(", images: i, labels: l"))->spec().fields[1].num_classes == 3);
  CHECK(says(f.error(", images: i, labels: l", "test"), "write num_classes"));
  CHECK(test::dataset(f.yaml(", images: i, labels: l, num_classes: 9"), "test")->size() == 2);
  CHECK_THROWS_AS(test::dataset(f.yaml(", images: i")), Error);
  CHECK_THROWS_AS(test::dataset(f.yaml(", images: i, labels: l, split: train")), Error);
  CHECK_THROWS_AS(test::dataset(f.yaml(", num_classes: 3, class_names: [a]")), Error);
}

TEST_CASE("damaged files are refused with a reason") {
  const Fixture f;
  const std::string path = f.folder / "train-labels-idx1-ubyte";
  const std::string good = labels("01230");
  const auto with = [&](std::string_view bytes) {
    put(path, bytes);
    return f.error();
  };
  CHECK(with(good).empty());
  CHECK(says(with(""), "not an IDX file"));
  CHECK(says(with("\x89PNG some picture"), "it starts with 89504e47"));
  CHECK(says(with(std::string("\0\0\x0d\x01", 4) + good.substr(4)), "IDX type 0x0d"));
  CHECK(says(with(images(5)), "has 3 axes, and 1 are needed"));
  CHECK(says(with(good.substr(0, 6)), "ends inside its header"));
  CHECK(says(with(good.substr(0, 10)), "cut short"));
  CHECK(says(with(good + "x"), "bytes after the 5"));
  CHECK(says(with(labels("")), "extent 0"));
  CHECK(says(with(labels("0123")), "holds 5 images, and"));
  CHECK(says(with(std::string("\0\0\x08\x01", 4) + be(0xffffffff) + "abc"), "announces 4294967295 bytes"));
}

TEST_CASE("a compressed file that is cut or damaged anywhere is refused") {
  const Fixture f;
  const std::string path = f.folder / "train-images-idx3-ubyte.gz";
  const std::string good = real_files().read_file(path);
  for (std::size_t size = 1; size < good.size(); ++size) {
    CAPTURE(size);
    put(path, good.substr(0, size));
    CHECK(!f.error().empty());
  }
  put(path, good.substr(0, good.size() / 2));
  CHECK(says(f.error(), "is cut short"));
  for (std::size_t i = 10; i < good.size(); ++i) {   // the first ten bytes are gzip's own header: flags, time, system
    CAPTURE(i);
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    put(path, bad);
    CHECK(!f.error().empty());
  }
}

TEST_CASE("Fashion-MNIST, where it is installed") {
  const std::string root = "/usr/share/datasets/fashion-mnist";
  if (!real_files().exists(root)) {
    MESSAGE("skipped: package dataset-fashion-mnist is not installed");
    return;
  }
  const auto train = test::dataset("{name: idx, root: " + root + "}");
  CHECK(train->size() == 60000);
  CHECK(train->spec().fields[0].shape == Shape{1, 28, 28});
  CHECK(train->spec().fields[1].num_classes == 10);
  CHECK(train->label(0) == 9);
  check_targets(*train, "train");
}
