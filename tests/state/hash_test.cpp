// sd-v1 against the Python reference, and what it must not see.
#include <doctest/doctest.h>

#include "lockstep/base/error.h"
#include "lockstep/base/json.h"
#include "lockstep/io/safetensors.h"
#include "lockstep/state/hash.h"
#include "paths.h"
#include "print.h"

using namespace lockstep;

namespace {
const std::string kGoldens = std::string(test::kSourceDir) + "/tests/goldens/";
}

TEST_CASE("sd-v1 equals the Python reference, leaf by leaf") {
  const Safetensors s = read_safetensors(real_files(), kGoldens + "sd_v1.safetensors");
  const Json golden = Json::parse(real_files().read_file(kGoldens + "sd_v1.json"), "sd_v1.json");
  const StateHash h = state_hash(s.tensors);
  CHECK(hex(h.root) == golden.at("root").string());
  REQUIRE(h.leaves.size() == golden.at("leaves").size());
  for (const StateLeaf& leaf : h.leaves) {
    CAPTURE(leaf.name);
    CHECK(hex(leaf.digest) == golden.at("leaves").at(leaf.name).string());
  }
}

TEST_CASE("order and strides do not enter the hash; names, shapes, dtypes and the sign of zero do") {
  const TensorEntry w{"w", Tensor::of<float>({1, 2, 3, 4}, {2, 2})}, b{"b", Tensor::of<float>({0}, {1})};
  const auto root = [](std::vector<TensorEntry> t) { return state_hash(t).root; };
  const Digest base = root({w, b});
  CHECK(root({b, w}) == base);
  const Tensor turned = Tensor::of<float>({1, 3, 2, 4}, {4});
  Strides strides{};
  strides[0] = 1;
  strides[1] = 2;
  CHECK(root({{"w", Tensor::view_of(turned, {2, 2}, strides, 0)}, b}) == base);
  CHECK(root({{"v", w.tensor}, b}) != base);
  CHECK(root({{"w", Tensor::of<float>({1, 2, 3, 4}, {4})}, b}) != base);
  CHECK(root({w, {"b", Tensor::of<float>({-0.0f}, {1})}}) != base);
  CHECK(root({w, {"b", Tensor::of<std::int32_t>({0}, {1})}}) != base);
  CHECK(root({w}) != base);
  CHECK_THROWS_AS(root({w, w}), Error);
}

TEST_CASE("the fingerprint is the sum of its tensors at their places") {
  const std::vector<TensorEntry> t = {{"b", Tensor::of<float>({1, 2, 3}, {3})}, {"a", Tensor::of<double>({5}, {1})}};
  const std::vector<std::uint64_t> first = fingerprint_positions(t);
  CHECK(first == std::vector<std::uint64_t>{2, 0});
  Nh128 sum;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::string bytes = bytes_of(t[i].tensor);
    sum += nh128(std::as_bytes(std::span(bytes)), first[i]);
  }
  CHECK(state_fingerprint(t) == sum);
  const std::vector<TensorEntry> moved = {{"b", t[0].tensor}, {"c", t[1].tensor}};
  CHECK(!(state_fingerprint(moved) == sum));
}
