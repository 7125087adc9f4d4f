// Composing: extends, merging, overrides, references, explain. Each rule of docs/config.md has a case here.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/config/compose.h"
#include "lockstep/config/load_yaml.h"
#include "print.h"
#include "temp_folder.h"

namespace lockstep {
namespace {

using Folder = test::TempFolder;

/// Without the names of the folder.
std::string strip(const Folder& f, std::string text) {
  const std::string prefix = f.path() + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
  return text;
}

struct Result {
  Composed c;
  std::string text;      // diagnostics
  std::string one;       // the tree on one line
};

Result from_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Diagnostics d;
  Result r;
  r.c = compose(text_source("x.yaml", text), overrides, d);
  r.text = d.text();
  r.one = one_line(r.c.root, 10000);
  return r;
}

Result from_file(const Folder& f, const std::string& file, const std::vector<std::string>& overrides = {}) {
  Diagnostics d;
  Result r;
  r.c = compose(file, overrides, d);
  r.text = strip(f, d.text());
  r.one = one_line(r.c.root, 10000);
  return r;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_CASE("extends: maps merge key by key, scalars and lists replace, later wins") {
  const Folder f;
  f.write("base.yaml", "seed: 1\ntrain: {epochs: 5, clip: 1}\nmetrics: [a, b]\n");
  f.write("sub/more.yaml", "extends: ../base.yaml\ntrain: {epochs: 6}\n");
  const Result r = from_file(f, f.write("x.yaml", "extends: [base.yaml, sub/more.yaml]\nmetrics: [c]\nname: x\n"));
  CHECK(r.text == "");
  CHECK(r.one == "{seed: 1, train: {epochs: 6, clip: 1}, metrics: [c], name: x}");
  CHECK(r.c.files.size() == 3);
  CHECK(strip(f, explain(r.c, "train.epochs")) == "train.epochs = 6\n  set at sub/more.yaml:2:17\n  shadows 5 at base.yaml:2:17\n  shadows 5 at base.yaml:2:17\n");
}

TEST_CASE("extends: cycles, missing files, wrong places") {
  const Folder f;
  f.write("a.yaml", "extends: b.yaml\n");
  f.write("b.yaml", "extends: a.yaml\n");
  CHECK(first_line(from_file(f, f.write("x.yaml", "extends: a.yaml\n")).text) == "b.yaml:1:10: error: 'a.yaml' extends itself");
  const Result missing = from_file(f, f.write("y.yaml", "extends: none.yaml\nseed: 1\n"));
  CHECK(missing.text.starts_with("y.yaml:1:10: error: none.yaml: no such file"));
  const Result inner = from_file(f, f.write("z.yaml", "model: {extends: a.yaml}\n"));
  CHECK(first_line(inner.text) == "z.yaml:1:9: error: 'extends' stands only at the root of a config");
  CHECK(first_line(from_text("[1, 2]\n").text) == "x.yaml:1:1: error: a config is a map of keys, but this is a list");
}

TEST_CASE("a scalar component under a map without name reads as {name: scalar}") {
  const Folder f;
  f.write("base.yaml", "optim: sgd\n");
  CHECK(from_file(f, f.write("x.yaml", "extends: base.yaml\noptim: {lr: 0.1}\n")).one == "{optim: {name: sgd, lr: 0.1}}");
}

TEST_CASE("a changed name drops the component's own keys and says which") {
  const Folder f;
  f.write("base.yaml", "optim: {name: adamw, beta1: 0.9, id: z}\n");
  const Result r = from_file(f, f.write("x.yaml", "extends: base.yaml\noptim: {name: sgd, momentum: 0.5}\n"));
  CHECK(r.one == "{optim: {name: sgd, id: z, momentum: 0.5}}");
  CHECK(r.text ==
        "x.yaml:2:15: warning: 'beta1' of 'adamw' is dropped: optim is now 'sgd'\n"
        "    2 | optim: {name: sgd, momentum: 0.5}\n"
        "      |               ^\n"
        "  it was set to 0.9 at base.yaml:1:22\n");
}

TEST_CASE("a changed name by override drops keys too") {
  const Result r = from_text("optim: {name: adamw, beta1: 0.9}\n", {"optim.name=sgd"});
  CHECK(r.one == "{optim: {name: sgd}}");
  CHECK(first_line(r.text) == "override:1:12: warning: 'beta1' of 'adamw' is dropped: optim is now 'sgd'");
  const Result item = from_text("layers: [conv2d: {out_channels: 3}]\n", {"layers.0.name=linear"});
  CHECK(item.one == "{layers: [{name: linear}]}");
  CHECK(from_text("layers: [relu]\n", {"layers.relu.name=gelu"}).one == "{layers: [{name: gelu}]}");
}

TEST_CASE("overrides: keys, indices, ids, component names") {
  const std::string text = "model:\n  layers:\n    - conv2d: {out: 3}\n    - {name: linear, out: 4, id: head}\n    - relu\n    - norm:\n";
  const auto one = [&](const std::string& o) { return from_text(text, {o}).one; };
  const std::string a = "{model: {layers: [{conv2d: {out: 9}}, {name: linear, out: 4, id: head}, relu, {norm: null}]}}";
  CHECK(one("model.layers.0.out=9") == a);
  CHECK(one("model.layers.0.conv2d.out=9") == a);
  CHECK(one("model.layers.conv2d.out=9") == a);
  CHECK(one("model.layers.-4.out=9") == a);
  CHECK(one("model.layers.head.out=5").find("{name: linear, out: 5, id: head}") != std::string::npos);
  CHECK(one("model.layers.1.linear.out=5").find("{name: linear, out: 5, id: head}") != std::string::npos);
  CHECK(one("model.layers.relu.slope=5").find("{name: relu, slope: 5}") != std::string::npos);
  CHECK(one("model.layers.norm.eps=5").find("{norm: {eps: 5}}") != std::string::npos);
  CHECK(one("model.layers.0.id=stem").find("{conv2d: {out: 3}, id: stem}") != std::string::npos);
  CHECK(one("model.layers+=gelu").find("{norm: null}, gelu]") != std::string::npos);
  CHECK(one("model.layers.-1=gelu").find("relu, gelu]") != std::string::npos);
}

TEST_CASE("overrides: values are YAML, split at the first =, applied in order") {
  CHECK(from_text("a: 1\n", {"a=x=y"}).one == "{a: x=y}");
  CHECK(from_text("a: 1\n", {"b.c=[1, {d: e}]"}).one == "{a: 1, b: {c: [1, {d: e}]}}");
  CHECK(from_text("a: 1\n", {"a="}).one == "{a: null}");
  CHECK(from_text("a: 1\n", {"a=2", "a=3"}).one == "{a: 3}");
  CHECK(from_text("a: 1\n", {"l+=x", "l+=y"}).one == "{a: 1, l: [x, y]}");
  CHECK(from_text("a: {b.c: 1}\n", {"a.\"b.c\"=2"}).one == "{a: {b.c: 2}}");
  CHECK(from_text("a: 1\n", {"a='2'"}).c.root.find("a")->quoted);
}

TEST_CASE("overrides: a file's content as a value") {
  const Folder f;
  const std::string file = f.write("m.yaml", "layers: [relu]\n");
  CHECK(from_text("a: 1\n", {"model=@" + file}).one == "{a: 1, model: {layers: [relu]}}");
  CHECK(first_line(from_text("a: 1\n", {"model=@no.yaml"}).text).starts_with("override:1:7: error: no.yaml: no such file"));
}

TEST_CASE("overrides: errors name the place in the argument") {
  CHECK(from_text("layers: [relu, gelu]\n", {"seed=1", "layers.gelo.x=1"}).text ==
        "override:2:8: error: 'layers' has no item 'gelo': no item has that id or component name\n"
        "    1 | layers.gelo.x=1\n"
        "      |        ^\n"
        "  did you mean 'layers.gelu'?\n"
        "1 error\n");
  const auto first = [](const std::string& text, const std::string& o) { return first_line(from_text(text, {o}).text); };
  CHECK(first("l: [a, a]\n", "l.a.x=1") == "override:1:3: error: 'l' has no item 'a': 2 items are called 'a': use an index, or give them ids");
  CHECK(first("l: [a, b]\n", "l.2=1") == "override:1:3: error: 'l' has no item '2': the list has 2 items, so an index lies in [-2, 1]");
  CHECK(first("l: []\n", "l.0=1") == "override:1:3: error: 'l' has no item '0': the list is empty");
  CHECK(first("a: 1\n", "b") == "override:1:1: error: 'b' is not an override: it holds no '='");
  CHECK(first("a: 1\n", "b..c=1") == "override:1:1: error: 'b..c' is not a path");
  CHECK(first("a: {b: 1}\n", "a+=1") == "override:1:1: error: 'a' is a map, so '+=' has nothing to append to");
  CHECK(first("a: 1\n", "a={b") == "override:1:3: error: not YAML: the '{' at override:1:3 is not closed before this");
  CHECK(first("a: 1\n", "extends=b.yaml") == "override:1:1: error: 'extends' cannot be overridden");
  CHECK(first("a: 1\n", "a={b: 1, b: 2}") == "override:1:10: error: the key 'b' stands twice in this map");
}

TEST_CASE("references take nodes with their types, or insert text") {
  CHECK(from_text("vars: {lr: 0.1, l: [1, 2]}\na: ${vars.lr}\nb: \"${vars.l}\"\nc: x_${vars.lr}_y\n").one ==
        "{a: 0.1, b: [1, 2], c: x_0.1_y}");
  const Result r = from_text("vars: {lr: 0.1}\na: '${vars.lr}'\n");
  CHECK_FALSE(r.c.root.find("a")->quoted);
  CHECK(r.c.root.find("a")->origin.text() == "x.yaml:1:12");
  CHECK(from_text("a: $${b}\nc: x$${\n").one == "{a: \"${b}\", c: \"x${\"}");
  CHECK(from_text("l: [{id: q, v: 7}]\na: ${l.q.v}\nb: ${l.0.v}\n").one == "{l: [{id: q, v: 7}], a: 7, b: 7}");
  CHECK(from_text("a: {x: 1}\nb: ${a}\nc: ${b.x}\n").one == "{a: {x: 1}, b: {x: 1}, c: 1}");
  CHECK(from_text("c: ${b.x}\nb: ${a}\na: {x: $${}\n").text.find("not YAML") != std::string::npos);
}

TEST_CASE("references are resolved after overrides, and a replaced user still counts as one") {
  CHECK(from_text("vars: {lr: 0.1}\na: ${vars.lr}\n", {"vars.lr=0.2"}).one == "{a: 0.2}");
  CHECK(from_text("vars: {lr: 0.1}\na: ${vars.lr}\n", {"a=3"}).text == "");
  CHECK(from_text("a: 1\n", {"vars.k=5", "b=${vars.k}"}).one == "{a: 1, b: 5}");
}

TEST_CASE("references: errors") {
  const auto first = [](const std::string& text) { return first_line(from_text(text).text); };
  CHECK(from_text("vars: {lr: 1}\na: ${vars.lt}\nb: ${vars.lr}\n").text ==
        "x.yaml:2:4: error: '${vars.lt}' names nothing\n"
        "    2 | a: ${vars.lt}\n"
        "      |    ^\n"
        "  did you mean '${vars.lr}'?\n"
        "  a reference names a key that is written in this config; defaults cannot be named\n"
        "1 error\n");
  CHECK(first("a: ${b}\nb: ${a}\n").find("leads back to itself") != std::string::npos);
  CHECK(first("a: {b: \"${a}\"}\n") == "x.yaml:1:8: error: '${a}' leads back to itself");
  CHECK(first("a: x${b}\nb: [1]\n") == "x.yaml:1:4: error: '${b}' names a list, which cannot stand inside a text");
  CHECK(first("a: x${b\n") == "x.yaml:1:4: error: a reference is not closed: '${' without '}'");
  CHECK(first("vars: {lr: 1, wd: 2}\na: ${vars.lr}\n") == "x.yaml:1:15: error: 'vars.wd' is not used");
}

TEST_CASE("references to the environment") {
  setenv("LOCKSTEP_TEST_VALUE", "17", 1);
  unsetenv("LOCKSTEP_TEST_NONE");
  CHECK(from_text("a: ${env:LOCKSTEP_TEST_VALUE}\nb: \"${env:LOCKSTEP_TEST_NONE:x:y}\"\nc: ${env:LOCKSTEP_TEST_NONE:}\n").one ==
        "{a: 17, b: \"x:y\", c: \"\"}");
  CHECK(first_line(from_text("a: ${env:LOCKSTEP_TEST_NONE}\n").text) ==
        "x.yaml:1:4: error: the environment variable LOCKSTEP_TEST_NONE is not set");
}

TEST_CASE("explain names the origin and what it shadows") {
  const Result r = from_text("train: {epochs: 3}\nlayers: [conv2d: {out: 3}]\n", {"train.epochs=5"});
  CHECK(explain(r.c, "train.epochs") == "train.epochs = 5\n  set at override:1:14\n  shadows 3 at x.yaml:1:17\n");
  CHECK(explain(r.c, "layers.0.out") == "layers.0.conv2d.out = 3\n  set at x.yaml:2:24\n");
  CHECK_THROWS_WITH_AS(explain(r.c, "train.epoch"), "nothing is written at 'train.epoch'; did you mean 'train.epochs'?", Error);
}

TEST_CASE("all errors are collected, sorted, and given as JSON") {
  Diagnostics d;
  compose(text_source("x.yaml", "b: ${q}\na: ${r}\na: 2\n"), {}, d);
  const Json j = d.json();
  REQUIRE(j.size() == 3);
  CHECK(j.items()[0].dump() == "{\"file\":\"x.yaml\",\"line\":1,\"column\":4,\"path\":\"\",\"message\":\"'${q}' names nothing\",\"suggestion\":null}");
  CHECK(j.items()[2].at("line").integer() == 3);
  CHECK_THROWS_AS(d.throw_errors(), Error);
}

}  // namespace
}  // namespace lockstep
