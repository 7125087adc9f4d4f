// Checkpoints: round trip, equal bytes, and every kind of damage.
#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/io/checkpoint.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::TempFolder;

namespace {

Checkpoint example() {
  Checkpoint c;
  c.info.identity = sha256("identity");
  c.info.step = 17;
  c.info.epoch = 3;
  c.info.chain = sha256("chain");
  c.info.state_hash = sha256("state");
  c.tensors.push_back({"0.weight", "parameter", Tensor::of<float>({1, -0.0f, 3, 4, 5, 6}, {2, 3})});
  c.tensors.push_back({"0.bias", "parameter", Tensor::of<double>({0.5}, {1})});
  c.tensors.push_back({"bn.count", "buffer", Tensor::of<std::int64_t>({-3}, {})});
  c.tensors.push_back({"empty", "slot", Tensor::zeros({0, 4})});
  c.scalars.set("step", Json::array().push("integer").push(17));
  c.selection.set("best", 0.25);
  return c;
}

// The message of the Error that f throws; fails the test on another category or none.
template <class F>
std::string data_error(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    CHECK(e.category == Category::data);
    return e.message;
  }
  FAIL("nothing was thrown");
  return {};
}

void put(const std::string& path, std::string_view bytes) {
  const auto file = real_files().open(path, OpenMode::truncate);
  file->write(bytes);
  file->close();
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was written") {
  const TempFolder folder;
  const std::string path = folder / "last.ckpt";
  const Checkpoint c = example();
  write_checkpoint(real_files(), path, c);
  const Checkpoint r = read_checkpoint(real_files(), path);
  CHECK(r.info.identity == c.info.identity);
  CHECK(r.info.step == 17);
  CHECK(r.info.epoch == 3);
  CHECK(r.info.chain == c.info.chain);
  CHECK(r.info.state_hash == c.info.state_hash);
  CHECK(r.scalars == c.scalars);
  CHECK(r.selection == c.selection);
  REQUIRE(r.tensors.size() == c.tensors.size());
  for (std::size_t i = 0; i < r.tensors.size(); ++i) {
    CHECK(r.tensors[i].name == c.tensors[i].name);
    CHECK(r.tensors[i].kind == c.tensors[i].kind);
    CHECK(r.tensors[i].tensor.shape() == c.tensors[i].tensor.shape());
    CHECK(r.tensors[i].tensor.dtype() == c.tensors[i].tensor.dtype());
    CHECK(bytes_of(r.tensors[i].tensor) == bytes_of(c.tensors[i].tensor));
  }
  CHECK(read_checkpoint_info(real_files(), path).step == 17);
  CHECK(verify_checkpoint(real_files(), path).chain == c.info.chain);
}

TEST_CASE("equal contents give equal bytes, whatever the strides") {
  const TempFolder folder;
  Checkpoint c = example();
  write_checkpoint(real_files(), folder / "a", c);
  // The same matrix stored column by column.
  const Tensor columns = Tensor::of<float>({1, 4, -0.0f, 5, 3, 6}, {6});
  Strides strides{};
  strides[0] = 1;
  strides[1] = 2;
  c.tensors[0].tensor = Tensor::view_of(columns, {2, 3}, strides, 0);
  write_checkpoint(real_files(), folder / "b", c);
  CHECK(real_files().read_file(folder / "a") == real_files().read_file(folder / "b"));
  const std::string bytes = real_files().read_file(folder / "a");
  CHECK(bytes.size() % 64 == 32);
}

TEST_CASE("a strided tensor larger than one piece is read in order") {
  const std::int64_t rows = 300, columns = 101;
  std::vector<float> values(static_cast<std::size_t>(rows * columns)), turned(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (std::size_t r = 0; r < 300; ++r) {
    for (std::size_t c = 0; c < 101; ++c) turned[c * 300 + r] = values[r * 101 + c];
  }
  const Tensor flat = Tensor::of<float>(std::span<const float>(turned), {rows * columns});
  Strides strides{};
  strides[0] = 1;
  strides[1] = rows;
  Tensor view = Tensor::view_of(flat, {rows, columns}, strides, 0);
  const Tensor plain = Tensor::of<float>(std::span<const float>(values), {rows, columns});
  CHECK(bytes_of(view) == bytes_of(plain));
  Tensor back = Tensor::zeros({rows * columns});
  Tensor back_view = Tensor::view_of(back, {rows, columns}, strides, 0);
  const std::string bytes = bytes_of(plain);
  const std::uint64_t version = back.version();
  assign_bytes(back_view, std::as_bytes(std::span(bytes)));
  CHECK(bytes_of(back) == bytes_of(flat));
  CHECK(back.version() == version + 1);
}

TEST_CASE("damage anywhere is detected") {
  const TempFolder folder;
  const std::string path = folder / "last.ckpt";
  write_checkpoint(real_files(), path, example());
  const std::string good = real_files().read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    put(path, bad);
    CAPTURE(i);
    const std::string message = data_error([&] { read_checkpoint(real_files(), path); });
    CHECK(message.find("last.ckpt") != std::string::npos);
    if (i >= 16) CHECK(message.find("is damaged") != std::string::npos);
    data_error([&] { verify_checkpoint(real_files(), path); });
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    put(path, good.substr(0, size));
    CAPTURE(size);
    data_error([&] { read_checkpoint(real_files(), path); });
    data_error([&] { verify_checkpoint(real_files(), path); });
  }
  put(path, good + std::string(64, '\0'));
  data_error([&] { read_checkpoint(real_files(), path); });
  data_error([&] { verify_checkpoint(real_files(), path); });
}

TEST_CASE("foreign, newer and missing files are told apart") {
  const TempFolder folder;
  const std::string path = folder / "x.ckpt";
  CHECK(data_error([&] { read_checkpoint(real_files(), path); }).find("no such file") != std::string::npos);
  put(path, "PK\x03\x04 this is a zip archive of some kind");
  CHECK(data_error([&] { read_checkpoint(real_files(), path); }).find("is not a Lockstep checkpoint") != std::string::npos);
  put(path, "");
  CHECK(data_error([&] { read_checkpoint(real_files(), path); }).find("it is empty") != std::string::npos);
  write_checkpoint(real_files(), path, example());
  std::string newer = real_files().read_file(path);
  newer[8] = 9;
  put(path, newer);
  const std::string message = data_error([&] { read_checkpoint(real_files(), path); });
  CHECK(message.find("format version 9") != std::string::npos);
  CHECK(message.find("reads up to 1") != std::string::npos);
}
