// Printing a tree and loading it again is the identity: fixed cases and random trees.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/config/compose.h"
#include "lockstep/config/load_yaml.h"

namespace lockstep {
namespace {

/// splitmix64: the test's own little generator, so that a failing case can be named by its number.
struct Dice {
  std::uint64_t state;
  std::uint64_t next() {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
};

std::string random_text(Dice& dice) {
  static const std::vector<std::string> kPieces = {
      "a", "B", "7", "0", "1e-3", ".5", "+", "-", " ", "  ", ":", ": ", "#", " #", ",", "[", "]", "{", "}", "&", "*", "!", "|",
      ">", "'", "\"", "%", "@", "`", "~", "null", "true", "yes", "\t", "\n", "\\", "$", "${", "$${", "}", "?", "? ", "- ", "=",
      "<<", "---", "...", "\u00e9", "\u4e2d", "\xF0\x9F\x99\x82", "\xC2\xA0", "\xEF\xBB\xBF", "\xE2\x80\xA8", "\x01", "\x7F", "\xC2\x85", "/", "\r"};
  std::string out;
  for (std::size_t i = dice.below(5); i > 0; --i) out += kPieces[dice.below(kPieces.size())];
  return out;
}

/// A plain scalar may only hold what some unquoted text loads as.
bool loads_plain(const std::string& text, bool in_flow) {
  Diagnostics d;
  const Node n = load_yaml(text_source("t", in_flow ? "[" + text + "]\n" : "k: " + text + "\n"), d);
  if (d.has_errors() || n.items.size() != 1) return false;
  return n.items[0].is_scalar() && !n.items[0].quoted && n.items[0].scalar == text;
}

Node random_tree(Dice& dice, int depth) {
  const std::size_t kind = dice.below(depth > 0 ? 6 : 3);
  if (kind == 0) return Node::make_null();
  if (kind <= 2) {
    const std::string text = random_text(dice);
    const bool plain = dice.below(2) == 0 && loads_plain(text, false);
    return Node::make_scalar(text, !plain);
  }
  Node n = kind == 3 ? Node::make_list() : Node::make_map();
  for (std::size_t i = dice.below(4); i > 0; --i) {
    Node value = random_tree(dice, depth - 1);
    if (n.is_map()) {
      n.set(random_text(dice), std::move(value));
    } else {
      n.items.push_back(std::move(value));
    }
  }
  return n;
}

TEST_CASE("random trees survive printing and loading") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice{seed};
    const Node tree = random_tree(dice, 4);
    const std::string text = dump(tree);
    Diagnostics d;
    const Node again = load_yaml(text_source("t", text), d);
    INFO("seed ", seed, "\n", text, "\n", d.text());
    REQUIRE_FALSE(d.has_errors());
    REQUIRE(again == tree);
    REQUIRE(dump(again) == text);
  }
}

TEST_CASE("random maps survive printing with references escaped and composing") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Dice dice{seed + 1000000};
    Node tree = Node::make_map();
    tree.set("a", random_tree(dice, 3));
    tree.set("b", random_tree(dice, 3));
    const std::string text = dump(tree, true);
    Diagnostics d;
    Composed c = compose(text_source("t", text), {}, d);
    INFO("seed ", seed, "\n", text, "\n", d.text());
    REQUIRE_FALSE(d.has_errors());
    REQUIRE(c.root == tree);
  }
}

TEST_CASE("random bytes never crash the loader") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice{seed + 77};
    std::string text;
    for (std::size_t i = dice.below(12); i > 0; --i) text += random_text(dice) + (dice.below(3) == 0 ? "\n" : " ");
    Diagnostics d;
    const Node n = load_yaml(text_source("t", text), d);
    (void)d.text();
    if (d.has_errors()) continue;
    INFO("seed ", seed, "\n", text);
    Diagnostics d2;
    REQUIRE(load_yaml(text_source("t", dump(n)), d2) == n);
  }
}

TEST_CASE("the printed form is what people write") {
  Diagnostics d;
  const std::string text =
      "name: x\n"
      "empty: []\n"
      "none: null\n"
      "mean: [0.286, 0.3]\n"
      "quoted: \"1e3\"\n"
      "layers:\n"
      "  - name: conv2d\n"
      "    out_channels: 32\n"
      "  - relu\n"
      "  - - a: 1\n"
      "    - b\n";
  const Node n = load_yaml(text_source("t", text), d);
  CHECK(dump(n) == text);
  CHECK(one_line(n) == "{name: x, empty: [], none: null, mean: [0.286, 0.3], quoted: \"1e3\", layers: [{na...");
}

TEST_CASE("paths quote keys that hold dots") {
  CHECK(key_path("a", "b") == "a.b");
  CHECK(key_path("", "b") == "b");
  CHECK(key_path("a", "b.c") == "a.\"b.c\"");
  std::vector<std::string> s;
  CHECK(split_path("a.\"b.c\\\"\".0", s));
  CHECK(s == std::vector<std::string>{"a", "b.c\"", "0"});
  CHECK_FALSE(split_path("a.\"b", s));
  CHECK_FALSE(split_path("", s));
  CHECK_FALSE(split_path("a.", s));
}

}  // namespace
}  // namespace lockstep
