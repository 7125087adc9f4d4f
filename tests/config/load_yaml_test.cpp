// Loading YAML: what is accepted, where things are, and what is refused in which words.
#include <doctest/doctest.h>

#include <string>

#include "lockstep/base/error.h"
#include "lockstep/config/load_yaml.h"
#include "print.h"

namespace lockstep {
namespace {

struct Loaded {
  Node tree;
  std::string text;  // of the diagnostics
};

Loaded load(const std::string& text) {
  Diagnostics d;
  Node tree = load_yaml(text_source("x.yaml", text), d);
  return {std::move(tree), d.text()};
}

TEST_CASE("scalars stay raw text with a quoted flag") {
  const Loaded l = load("a: 1e-3\nb: '1e-3'\nc: 123E456\nd: yes\ny: \"\\u00e9\"\nn: null\nm: ~\ne:\nN: Null\n");
  CHECK(l.text == "");
  CHECK(l.tree.find("a")->scalar == "1e-3");
  CHECK_FALSE(l.tree.find("a")->quoted);
  CHECK(l.tree.find("b")->quoted);
  CHECK(l.tree.find("c")->scalar == "123E456");
  CHECK(l.tree.find("d")->scalar == "yes");
  CHECK(l.tree.find("y")->scalar == "\u00e9");
  CHECK(l.tree.find("n")->is_null());
  CHECK(l.tree.find("m")->is_null());
  CHECK(l.tree.find("e")->is_null());
  CHECK(l.tree.find("N")->scalar == "Null");
}

TEST_CASE("places count lines and code points, and an empty value stands at its key") {
  const Loaded l = load("a: {\u00e9\u00e9: x, k: 2}\nlist:\n  - one\n  -\nempty:\nlast: 1\n");
  CHECK(l.tree.find("a")->find("k")->origin.text() == "x.yaml:1:15");
  CHECK(l.tree.find("a")->find_key("k")->origin.text() == "x.yaml:1:12");
  CHECK(l.tree.find("list")->items[0].origin.text() == "x.yaml:3:5");
  CHECK(l.tree.find("empty")->origin.text() == "x.yaml:5:1");
}

TEST_CASE("byte order mark, CRLF and trailing blanks are accepted") {
  const Loaded l = load("\xEF\xBB\xBFseed: 1  \r\nname: a\r\n");
  CHECK(l.text == "");
  CHECK(l.tree.find("seed")->scalar == "1");
  CHECK(l.tree.find("name")->scalar == "a");
  CHECK(l.tree.find("name")->origin.text() == "x.yaml:2:7");
}

TEST_CASE("anchors and aliases copy") {
  const Loaded l = load("a: &x {k: [1, 2]}\nb: *x\n");
  CHECK(l.text == "");
  CHECK(*l.tree.find("b") == *l.tree.find("a"));
  CHECK(l.tree.find("b")->origin.text() == "x.yaml:1:4");
}

TEST_CASE("an empty document is a null") { CHECK(load("# nothing\n").tree.is_null()); }

TEST_CASE("duplicate keys show both places") {
  CHECK(load("seed: 1\nseed: 2\n").text ==
        "x.yaml:2:1: error: the key 'seed' stands twice in this map\n"
        "    2 | seed: 2\n"
        "      | ^\n"
        "  first at x.yaml:1:1\n"
        "  remove one: neither would win by a rule that a reader could know\n"
        "1 error\n");
  CHECK(load("a: {k: 1, \"k\": 2}\n").text.find("x.yaml:1:11: error: the key 'k' stands twice") == 0);
}

TEST_CASE("what reads differently elsewhere is refused") {
  const auto first = [](const std::string& text) {
    const std::string all = load(text).text;
    return all.substr(0, all.find('\n'));
  };
  CHECK(first("a:\n\tb: 1\n") == "x.yaml:2:1: error: a tab in the indentation");
  CHECK(first("a: 1\n---\nb: 2\n") == "x.yaml:2:1: error: a second document begins here");
  CHECK(first("a: !!int 3\n") == "x.yaml:1:4: error: a tag, '!!int'");
  CHECK(first("a: !list [1]\n") == "x.yaml:1:4: error: a tag, '!list'");
  CHECK(first("a: &x {b: 1}\nc:\n  <<: *x\n") == "x.yaml:3:3: error: the merge key '<<'");
  CHECK(first("? [a, b]\n: 1\n") == "x.yaml:1:3: error: a list, a map or an alias as a key");
  CHECK(first("{a:1}\n") == "x.yaml:1:2: error: 'a:1' is one key without a value");
  CHECK(first("~: 1\n") == "x.yaml:1:1: error: a key is missing or null");
  CHECK(first(std::string("a: b\0c\n", 7)) == "x.yaml:1:5: error: control character 0x00");
  CHECK(first("a: \xff\n") == "x.yaml:1:4: error: byte 0xFF is not UTF-8");
  CHECK(first("a: [1, 2\n") == "x.yaml:2:1: error: not YAML: the '[' at x.yaml:1:4 is not closed before this");
  CHECK(first("a: b: c\n") == "x.yaml:1:5: error: not YAML: illegal map value");
  CHECK(first("a: *x\n") == "x.yaml:1:4: error: not YAML: the referenced anchor is not defined");
}

TEST_CASE("a reference inside a flow map needs quotes, and the error says so") {
  CHECK(load("a: {b: ${vars.x}}\n").text.find("a reference needs quotes: \"${...}\"") != std::string::npos);
}

TEST_CASE("expansion and depth are bounded") {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) laughs += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    laughs += "]\n";
  }
  CHECK(load(laughs).text.find("more than 1000000 values") != std::string::npos);
  CHECK(load(std::string(300, '[') + std::string(300, ']')).text.find("nested deeper than 200 levels") != std::string::npos);
  CHECK(load(std::string(199, '[') + std::string(199, ']')).text == "");
}

TEST_CASE("a long line is cut around the caret") {
  const Loaded l = load("a: {" + std::string(300, ' ') + "k: 1, k: 2" + std::string(300, ' ') + "}\n");
  CHECK(l.text.find("...") != std::string::npos);
  CHECK(l.text.size() < 700);
}

TEST_CASE("a missing file, a folder") {
  CHECK_THROWS_AS(read_source("no/such.yaml"), Error);
  try {
    read_source("no/such.yaml");
  } catch (const Error& e) {
    CHECK(e.category == Category::usage);
    CHECK(e.message.starts_with("no/such.yaml: no such file; a config file is named by its path, here relative to "));
  }
  CHECK_THROWS_AS(read_source("tests"), Error);
}

TEST_CASE("invisible characters are shown") {
  CHECK(visible("a\xC2\xA0" "b\xEF\xBB\xBF") == "a\\u00A0b\\uFEFF");
}

}  // namespace
}  // namespace lockstep
