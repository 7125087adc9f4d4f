// safetensors: the golden written by Python, round trips, and files that lie.
#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/io/safetensors.h"
#include "paths.h"
#include "print.h"
#include "temp_folder.h"

using namespace lockstep;
using lockstep::test::TempFolder;

namespace {

std::string golden() { return std::string(test::kSourceDir) + "/tests/goldens/sd_v1.safetensors"; }

std::string file_of(std::string header, std::string_view data) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string(data);
}

std::string read_error(std::string_view bytes) {
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  const auto file = real_files().open(path, OpenMode::truncate);
  file->write(bytes);
  file->close();
  try {
    read_safetensors(real_files(), path);
  } catch (const Error& e) {
    CHECK(e.category == Category::data);
    CHECK(e.message.find(path) != std::string::npos);
    return e.message;
  }
  return "";
}

bool says(const std::string& message, std::string_view part) {
  INFO(message);
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file written by Python is read, and written back byte for byte") {
  const Safetensors s = read_safetensors(real_files(), golden());
  REQUIRE(s.tensors.size() == 12);
  CHECK(s.metadata.at("format") == "pt");
  CHECK(s.tensors[0].name == "0.bias");
  CHECK(s.tensors[1].name == "0.weight");
  CHECK(s.tensors[1].tensor.shape() == Shape{2, 3});
  CHECK(s.tensors[3].tensor.item() == -7);
  CHECK(safetensors_bytes(s.tensors) == real_files().read_file(golden()));
}

TEST_CASE("metadata and tensors make the round trip; order of the input does not matter") {
  const TempFolder folder;
  const std::vector<TensorEntry> a = {{"b", Tensor::of<float>({1, 2}, {2})},
                                      {"a", Tensor::of<std::uint8_t>({7, 8, 9}, {3})},
                                      {"c", Tensor::of<std::int64_t>({5}, {})}};
  const std::vector<TensorEntry> b = {a[2], a[0], a[1]};
  const SafetensorsMetadata meta = {{"state_hash", "00ff"}, {"identity", "ab"}};
  CHECK(safetensors_bytes(a, meta) == safetensors_bytes(b, meta));
  write_safetensors(real_files(), folder / "m", a, meta);
  CHECK(real_files().read_file(folder / "m") == safetensors_bytes(a, meta));
  const Safetensors s = read_safetensors(real_files(), folder / "m");
  CHECK(s.metadata.at("state_hash") == "00ff");
  REQUIRE(s.tensors.size() == 3);
  CHECK(s.tensors[0].name == "a");
  CHECK(s.tensors[0].tensor.to_doubles() == std::vector<double>{7, 8, 9});
  CHECK(safetensors_bytes({}).size() % 8 == 0);
  write_safetensors(real_files(), folder / "none", {});
  CHECK(read_safetensors(real_files(), folder / "none").tensors.empty());
}

TEST_CASE("two tensors of one name are refused") {
  const std::vector<TensorEntry> twice = {{"a", Tensor::zeros({1})}, {"a", Tensor::zeros({2})}};
  CHECK_THROWS_AS(safetensors_bytes(twice), Error);
}

TEST_CASE("files that lie are refused with a reason") {
  const std::string four(4, 'x'), eight(8, 'x');
  CHECK(says(read_error(""), "it has 0 bytes"));
  CHECK(says(read_error(std::string(8, '\xff')), "more than 100000000"));
  CHECK(says(read_error(file_of("{}", "").substr(0, 9)), "cut short"));
  CHECK(says(read_error(file_of("{", "")), "not a valid safetensors file"));
  CHECK(says(read_error(file_of("[]", "")), "not a valid safetensors file"));
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  CHECK(read_error(file_of(one("F32", "[1]", "[0,4]"), four)).empty());
  CHECK(says(read_error(file_of(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1}})", four)), "unknown entry 'extra'"));
  CHECK(says(read_error(file_of(one("F31", "[1]", "[0,4]"), four)), "dtype 'F31'"));
  CHECK(says(read_error(file_of(one("F32", "[2]", "[0,4]"), four)), "takes 8 bytes"));
  CHECK(says(read_error(file_of(one("F32", "[-1]", "[0,4]"), four)), "impossible shape"));
  CHECK(says(read_error(file_of(one("F32", "[4611686018427387904,4]", "[0,4]"), four)), "impossible shape"));
  CHECK(says(read_error(file_of(one("F32", "[1]", "[0,8]"), four)), "in 4 bytes of data"));
  CHECK(says(read_error(file_of(one("F32", "[1]", "[4,0]"), four)), "data_offsets [4, 0]"));
  CHECK(says(read_error(file_of(one("F32", "[1]", "[4,8]"), eight)), "nothing describes bytes 0 to 4"));
  CHECK(says(read_error(file_of(one("F32", "[1]", "[0,4]"), eight)), "the data has 8 bytes"));
  CHECK(says(read_error(file_of(one("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), four)), "9 axes"));
  CHECK(says(read_error(file_of(one("F32", "[1]", "[0,4,4]"), four)), "3 data_offsets"));
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(says(read_error(file_of(R"({"a":)" + entry + R"(,"b":)" + entry + "}", four)), "overlap"));
  CHECK(says(read_error(file_of(R"({"a":)" + entry + R"(,"a":)" + entry + "}", four)), "not a valid"));
  CHECK(says(read_error(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", four)), "data_offsets"));
}
