// Reading configs: what is accepted, how components are chosen, and the exact words of every complaint.
#include <doctest/doctest.h>

#include "lockstep/config/load_yaml.h"
#include "print.h"
#include "toy.h"

namespace lockstep {
namespace {

using toy::Config;

struct Result {
  Config config;
  std::string text;
  bool good = false;
};

Result from(const std::string& text, const std::vector<std::string>& overrides = {}) {
  static const Registry registry(toy::rows());
  Diagnostics d;
  Result out;
  const auto rules = position_rules<Config>(registry);
  const Composed c = compose(text_source("x.yaml", text, Source::Kind::file, "/home/u/configs"), overrides, d, *rules);
  Reader r{registry, d};
  out.good = read(c.root, out.config, r) && !d.has_errors();
  out.text = d.text();
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The good config with `extra` after it.
std::string with(const std::string& extra) { return std::string(toy::kGood) + extra; }
std::string first(const std::string& extra) { return first_line(from(with(extra)).text); }

TEST_CASE("a config reads into structs, and components are built from them") {
  const Result r = from(std::string(toy::kGood));
  CHECK(r.text == "");
  REQUIRE(r.good);
  const Config& c = r.config;
  CHECK(c.name == "toy");
  CHECK(c.model.name == "sequential");
  CHECK(c.model.shown() == "model 'sequential' (x.yaml:3:9)");
  CHECK(c.model.make("net")->out(5) == 2);
  REQUIRE(c.optims.items.size() == 1);
  const Ref<toy::OptimizerDef>& optim = c.optims.items[0];
  CHECK(optim.id == "main");
  CHECK(optim.make()->step(1) == 1.9);
  CHECK(optim.common_as<toy::OptimizerDef>().lr == 0.1);
  CHECK(optim.common_as<toy::OptimizerDef>().schedule.name == "constant");
  CHECK(c.data.val.items.at(0).id == "main");
  CHECK(c.losses.items.at(0).id == "main");
}

TEST_CASE("everything is reported in one pass, with nearest names") {
  const Result r = from(
      "data: {train: {name: idx, root: data}, val: idx}\n"
      "model:\n"
      "  layers:\n"
      "    - linear: {out_feature: 8}\n"
      "    - rlu\n"
      "    - residual: {layers: [linear: {out_features: 0}]}\n"
      "optim: {name: sgd, momentun: 0.9, lr: fast}\n"
      "train: {epochs: yes, clip: -1, shuffle: yes}\n"
      "los: ce\n");
  CHECK(r.text ==
        "x.yaml:4:16: error: unknown key 'out_feature' in layer 'linear'\n"
        "    4 |     - linear: {out_feature: 8}\n"
        "      |                ^\n"
        "  did you mean 'out_features'?\n"
        "  accepted keys: out_features, bias\n"
        "x.yaml:5:7: error: layer 'rlu' is not in the registry\n"
        "    5 |     - rlu\n"
        "      |       ^\n"
        "  did you mean 'relu'?\n"
        "  registered layers: linear, max_pool2d, relu, residual\n"
        "x.yaml:6:50: error: 'model.layers.2.layers.0.out_features' is 0, but must be in [1, 1000000000]\n"
        "    6 |     - residual: {layers: [linear: {out_features: 0}]}\n"
        "      |                                                  ^\n"
        "x.yaml:7:20: error: unknown key 'momentun' in optim 'sgd'\n"
        "    7 | optim: {name: sgd, momentun: 0.9, lr: fast}\n"
        "      |                    ^\n"
        "  did you mean 'momentum'?\n"
        "  accepted keys: momentum, nesterov, lr, schedule, groups\n"
        "x.yaml:7:39: error: 'optim.lr': expected a number, got 'fast'\n"
        "    7 | optim: {name: sgd, momentun: 0.9, lr: fast}\n"
        "      |                                       ^\n"
        "  digits, '.', an exponent (1e-3) and a sign make a number\n"
        "x.yaml:8:17: error: 'train.epochs': expected an integer, got 'yes'\n"
        "    8 | train: {epochs: yes, clip: -1, shuffle: yes}\n"
        "      |                 ^\n"
        "  digits and a sign make an integer\n"
        "x.yaml:8:28: error: 'train.clip' is -1, but must be > 0\n"
        "    8 | train: {epochs: yes, clip: -1, shuffle: yes}\n"
        "      |                            ^\n"
        "x.yaml:8:41: error: 'train.shuffle': expected true or false, got 'yes'\n"
        "    8 | train: {epochs: yes, clip: -1, shuffle: yes}\n"
        "      |                                         ^\n"
        "  yes, no, on, off and other spellings are plain words here\n"
        "x.yaml:9:1: error: unknown key 'los' at the top level\n"
        "    9 | los: ce\n"
        "      | ^\n"
        "  did you mean 'loss'?\n"
        "  accepted keys: name, seed, data, model, losses, loss, optims, optim, train, tags\n"
        "9 errors\n");
  CHECK(first_line(from("data: {train: idx}\nmodel: {layers: [linear: {bias: true}]}\nloss: ce\noptim: sgd\n").text) ==
        "x.yaml:2:18: error: missing key 'out_features' in layer 'linear'");
}

TEST_CASE("numbers: the declared type decides") {
  for (const char* text : {"1e-3", "1E-3", "1.e-3", ".001", "+1e-3", "0.001"}) {
    const Result r = from(std::string(toy::kGood), {std::string("optim.lr=") + text});
    CHECK(r.text == "");
    CHECK(r.config.optims.items.at(0).common_as<toy::OptimizerDef>().lr == 1e-3);
  }
  CHECK(from(with("train: {epochs: 1e3}\n")).config.train.epochs == 1000);
  CHECK(from(with("train: {epochs: +1.50e1}\n")).config.train.epochs == 15);
  CHECK(from(with("seed: 9007199254740991\n")).config.seed == 9007199254740991);
  CHECK(from(with("seed: 0e99\n")).config.seed == 0);
  CHECK(first("train: {epochs: 1.5}\n") == "x.yaml:6:17: error: 'train.epochs': expected an integer, got '1.5'");
  CHECK(first("train: {epochs: 1_000}\n") == "x.yaml:6:17: error: 'train.epochs': expected an integer, got '1_000'");
  CHECK(first("train: {epochs: 0x10}\n") == "x.yaml:6:17: error: 'train.epochs': expected an integer, got '0x10'");
  CHECK(first("train: {clip: inf}\n") == "x.yaml:6:15: error: 'train.clip': expected a number, got 'inf'");
  CHECK(first("train: {clip: nan}\n") == "x.yaml:6:15: error: 'train.clip': expected a number, got 'nan'");
  CHECK(first("train: {clip: 1e999}\n") == "x.yaml:6:15: error: 'train.clip': expected a number, got '1e999'");
  CHECK(first("train: {clip: +-1}\n") == "x.yaml:6:15: error: 'train.clip': expected a number, got '+-1'");
  CHECK(first("seed: 1e20\n") == "x.yaml:6:7: error: 'seed': expected an integer, got '1e20'");
  CHECK(first("seed: 9007199254740992\n") == "x.yaml:6:7: error: 'seed' is 9007199254740992, but must be <= 9007199254740991");
}

TEST_CASE("quoted text is never a number or a boolean") {
  CHECK(from(with("train: {epochs: '3'}\n")).text ==
        "x.yaml:6:17: error: 'train.epochs': expected an integer, got the text '3'\n"
        "    6 | train: {epochs: '3'}\n"
        "      |                 ^\n"
        "  remove the quotes\n"
        "1 error\n");
  CHECK(first("train: {shuffle: \"true\"}\n") == "x.yaml:6:18: error: 'train.shuffle': expected true or false, got the text 'true'");
  const Result r = from(std::string(toy::kGood), {"data.train.split=123E456", "name='0'"});
  CHECK(r.config.name == "0");
  CHECK(r.text == "");
}

TEST_CASE("booleans are true and false") {
  CHECK(from(with("train: {shuffle: on}\n")).text ==
        "x.yaml:6:18: error: 'train.shuffle': expected true or false, got 'on'\n"
        "    6 | train: {shuffle: on}\n"
        "      |                  ^\n"
        "  yes, no, on, off and other spellings are plain words here\n"
        "1 error\n");
  CHECK(first("train: {shuffle: True}\n") == "x.yaml:6:18: error: 'train.shuffle': expected true or false, got 'True'");
  CHECK(first("train: {shuffle: 1}\n") == "x.yaml:6:18: error: 'train.shuffle': expected true or false, got '1'");
  CHECK_FALSE(from(with("train: {shuffle: false}\n")).config.train.shuffle);
}

TEST_CASE("null is for optional fields, and means none") {
  const Result r = from(with("train: {clip: null, checkpoint: {every: ~}}\n"));
  CHECK(r.text == "");
  CHECK_FALSE(r.config.train.clip.has_value());
  CHECK(first("train: {epochs: }\n") == "x.yaml:6:9: error: 'train.epochs': expected an integer, got null");
  CHECK(first("train:\n") == "x.yaml:6:1: error: 'train': expected a map, got null");
  CHECK(first("name2: 1\n") == "x.yaml:6:1: error: unknown key 'name2' at the top level");
  CHECK(first_line(from(std::string(toy::kGood), {"name=null"}).text) == "override:1:6: error: 'name': expected a text, got null");
  CHECK(first_line(from(std::string(toy::kGood), {"model=null"}).text) == "override:1:7: error: expected a model, got null");
}

TEST_CASE("ranges") {
  CHECK(first("train: {epochs: 0}\n") == "x.yaml:6:17: error: 'train.epochs' is 0, but must be in [1, 1000000000]");
  CHECK(first("train: {clip: 0}\n") == "x.yaml:6:15: error: 'train.clip' is 0, but must be > 0");
  CHECK(first("train: {checkpoint: {keep: 0}}\n") == "x.yaml:6:28: error: 'train.checkpoint.keep' is 0, but must be >= 1");
  CHECK(first_line(from(std::string(toy::kGood), {"optim.lr=0"}).text) == "override:1:10: error: 'optim.lr' is 0, but must be > 0");
  CHECK(first_line(from(std::string(toy::kGood), {"loss={name: ce, label_smoothing: 1}"}).text) ==
        "override:1:34: error: 'loss.label_smoothing' is 1, but must be in [0, 1)");
  CHECK(first_line(from(std::string(toy::kGood), {"model={name: mlp, hidden: [4, 0]}"}).text) ==
        "override:1:31: error: 'model.hidden.1' is 0, but must be in [1, 1000000]");
}

TEST_CASE("choices, lists, maps, variants") {
  CHECK(from(with("train: {on_nan: skip}\n")).config.train.on_nan == toy::OnNan::skip);
  CHECK(from(with("train: {on_nan: skp}\n")).text ==
        "x.yaml:6:17: error: 'train.on_nan': expected one of stop, skip, rollback, got 'skp'\n"
        "    6 | train: {on_nan: skp}\n"
        "      |                 ^\n"
        "  did you mean 'skip'?\n"
        "1 error\n");
  CHECK(from(with("tags: {a: 1, b: 2e-1}\n")).config.tags == std::map<std::string, double>{{"a", 1}, {"b", 0.2}});
  CHECK(first("tags: [1]\n") == "x.yaml:6:7: error: 'tags': expected a map, got a list");
  const auto model = [](const std::string& m) { return from(std::string(toy::kGood), {"model=" + m}); };
  CHECK(model("{layers: [max_pool2d: {kernel_size: 3}]}").text == "");
  CHECK(model("{layers: [max_pool2d: {kernel_size: [3, 4]}]}").text == "");
  CHECK(first_line(model("{layers: [max_pool2d: {kernel_size: a}]}").text) ==
        "override:1:43: error: 'model.layers.0.kernel_size': expected integer or list of integer, got 'a'");
  CHECK(first_line(model("{name: mlp, hidden: 3}").text) == "override:1:27: error: 'model.hidden': expected a list, got '3'");
  CHECK(first_line(model("{layers: relu}").text) == "override:1:16: error: 'model.layers': expected a list of layers, got 'relu'");
  CHECK(first_line(model("{layers: []}").text) == "override:1:16: error: 'model.layers' has 0 items, but must have at least 1");
}

TEST_CASE("component positions: what is a name, and what is missing") {
  const auto model = [](const std::string& m) { return from(std::string(toy::kGood), {"model=" + m}).text; };
  CHECK(model("mlp") == "");
  CHECK(model("{name: mlp, hidden: [2]}") == "");
  CHECK(model("{layers: [relu, relu: , relu: {}, {name: relu}, {relu: {}, id: a, from: [b, c], repeat: 2}]}") == "");
  CHECK(model("{hidden: [3]}") ==
        "override:1:7: error: this model has no 'name'\n"
        "    1 | model={hidden: [3]}\n"
        "      |       ^\n"
        "  a model is a name, or a map with 'name' and its keys\n"
        "  'layers' without a name means 'sequential'\n"
        "  'graph' without a name means 'dag'\n"
        "1 error\n");
  CHECK(model("{mlp: {hidden: [3]}}").find("  write {name: mlp, ...}: the form 'mlp: {...}' is for items of a list\n") != std::string::npos);
  CHECK(first_line(model("{layers: [relu], graph: []}")) ==
        "override:1:24: error: this model has no 'name', and 'layers' and 'graph' mean different ones");
  CHECK(first_line(model("{graph: []}")) == "override:1:8: error: model 'dag' is not in the registry");
  CHECK(model("{layers: [linear: 3]}").find("write {name: linear}, or a map of its keys: 'linear: {...}'") != std::string::npos);
  CHECK(model("{layers: [{linear: {out_features: 1}, relu: }]}").find("begin each with '-'") != std::string::npos);
  CHECK(first_line(model("[mlp]")) == "override:1:7: error: expected a model, got a list");
  CHECK(first_line(model("{name: [mlp]}")) == "override:1:14: error: the 'name' of a model is a text, got a list");
  CHECK(model("relu").find("'relu' is a layer") != std::string::npos);
}

TEST_CASE("a component's error is judged by its name first") {
  const std::string text = from(std::string(toy::kGood), {"optim={name: sdg, momentun: 1, lr: -1}"}).text;
  CHECK(text ==
        "override:1:14: error: optim 'sdg' is not in the registry\n"
        "    1 | optim={name: sdg, momentun: 1, lr: -1}\n"
        "      |              ^\n"
        "  did you mean 'sgd'?\n"
        "  registered optimizers: adam, sgd\n"
        "1 error\n");
}

TEST_CASE("ids, from, coef and repeat stand beside items of lists") {
  const Result r = from(std::string(toy::kGood),
                        {"model={layers: [{linear: {out_features: 3}, id: stem, repeat: 2, from: x}]}", "loss={name: ce, coef: 0.5}"});
  CHECK(r.text == "");
  CHECK(r.config.losses.items.at(0).coef == 0.5);
  const auto model = [](const std::string& m) { return first_line(from(std::string(toy::kGood), {"model=" + m}).text); };
  CHECK(model("{layers: [{name: relu, id: 3a}]}") == "override:1:34: error: '3a' is not an id");
  CHECK(model("{layers: [{name: relu, id: a}, {name: relu, id: a}]}") == "override:1:55: error: two items have the id 'a'");
  CHECK(model("{layers: [{name: relu, repeat: 0}]}") == "override:1:38: error: 'model.layers.0.repeat' is 0, but must be in [1, 10000]");
  CHECK(model("{layers: [{relu: , id: a, coef: 2}]}") == "override:1:39: error: 'coef' has no meaning beside a layer");
  CHECK(model("{layers: [{name: relu, coef: 2}]}") == "override:1:36: error: 'coef' has no meaning beside a layer");
  CHECK(model("{layers: [{relu: , from: {a: b}}]}") == "override:1:32: error: 'from' names ids, got a map");
  const auto loss = [](const std::string& m) { return first_line(from(std::string(toy::kGood), {m}).text); };
  CHECK(loss("loss={name: ce, repeat: 2}") == "override:1:25: error: 'repeat' has no meaning beside a loss");
  CHECK(loss("loss={name: ce, coef: 0}") == "override:1:23: error: 'loss.coef' is 0: the loss would train nothing");
  CHECK(model("{name: mlp, id: a}") == "override:1:19: error: unknown key 'id' in model 'mlp'");
  CHECK(model("{layers: [linear: {out_features: 3, id: x}]}") == "override:1:43: error: unknown key 'id' in layer 'linear'");
}

TEST_CASE("singular and plural") {
  const std::string base = "data: {train: idx}\nmodel: mlp\n";
  const Result list = from(base + "losses: [ce, {ce: {label_smoothing: 0.1}, coef: 2, id: smooth}]\noptim: sgd\n");
  CHECK(list.text == "");
  CHECK(list.config.losses.items.at(0).id == "0");
  CHECK(list.config.losses.items.at(1).id == "smooth");
  const Result map = from(base + "losses: {b: ce, a: {name: ce, coef: 2}}\noptim: sgd\n");
  CHECK(map.text == "");
  CHECK(map.config.losses.items.at(0).id == "b");
  CHECK(map.config.losses.items.at(1).coef == 2);
  CHECK(first_line(from(base + "loss: ce\nlosses: [ce]\noptim: sgd\n").text) == "x.yaml:4:1: error: 'loss' and 'losses' are both written");
  CHECK(from(base + "loss: ce\nlosses: null\noptim: sgd\n").config.losses.items.size() == 1);
  CHECK(from(base + "loss: null\nlosses: [ce, {name: ce, id: b}]\noptim: sgd\n").config.losses.items.size() == 2);
  CHECK(first_line(from(base + "optim: sgd\n").text) == "x.yaml:1:1: error: missing key 'loss' or 'losses' at the top level");
  CHECK(from(base + "losses: {name: ce}\noptim: sgd\n").text.find("one loss is an item: [{name: ...}]") != std::string::npos);
}

TEST_CASE("one or many") {
  CHECK(from(with(""), {"data.val=idx", "data.val=null"}).config.data.val.items.empty());
  const Result r = from(with("") , {"data.val={clean: idx, a: {name: idx, split: t}}"});
  CHECK(r.text == "");
  REQUIRE(r.config.data.val.items.size() == 2);
  CHECK(r.config.data.val.items[0].id == "a");
  CHECK(r.config.data.val.items[1].id == "clean");
  CHECK(first_line(from(std::string(toy::kGood), {"data.val={3: idx}"}).text) == "override:1:11: error: '3' is not an id");
  CHECK(first_line(from(std::string(toy::kGood), {"data.val={root: /x}"}).text) ==
        "override:1:17: error: dataset '/x' is not in the registry");
}

TEST_CASE("keys without effect, and checks across keys") {
  CHECK(from(with("train: {snapshot: 5}\n")).text ==
        "x.yaml:6:9: error: 'snapshot' has no effect: 'on_nan' is 'stop', and it acts only when that is 'rollback'\n"
        "    6 | train: {snapshot: 5}\n"
        "      |         ^\n"
        "  remove it, or set train.on_nan: rollback\n"
        "1 error\n");
  CHECK(from(with("train: {snapshot: 5, on_nan: rollback}\n")).text == "");
  CHECK(first_line(from(std::string(toy::kGood), {"optim={name: sgd, nesterov: true}"}).text) ==
        "override:1:14: error: optim 'sgd': nesterov needs momentum above 0, and momentum is 0");
}

TEST_CASE("a mistyped override suggests the whole path") {
  CHECK(from(std::string(toy::kGood), {"train.epohcs=3"}).text ==
        "override:1:7: error: unknown key 'epohcs' in train\n"
        "    1 | train.epohcs=3\n"
        "      |       ^\n"
        "  did you mean 'train.epochs'?\n"
        "  accepted keys: epochs, clip, shuffle, on_nan, snapshot, checkpoint\n"
        "1 error\n");
  CHECK(first_line(from(std::string(toy::kGood), {"trian.epochs=3"}).text) == "override:1:1: error: unknown key 'trian' at the top level");
}

TEST_CASE("paths are relative to what holds them") {
  const Result r = from(std::string(toy::kGood), {"data.val={name: idx, root: here}"});
  const Registry registry(toy::rows());
  const Node tree = canonical(r.config);
  CHECK(tree.find("data")->find("train")->find("root")->scalar == "/home/u/configs/data");
  CHECK(tree.find("data")->find("val")->find("root")->scalar == (std::filesystem::current_path() / "here").string());
  CHECK(canonical(from("data: {train: {name: idx, root: ../d}}\nmodel: mlp\nloss: ce\noptim: sgd\n").config)
            .find("data")->find("train")->find("root")->scalar == "/home/u/d");
  CHECK(canonical(from("data: {train: idx}\nmodel: mlp\nloss: ce\noptim: sgd\n").config)
            .find("data")->find("train")->find("root")->scalar == "/usr/share/x");
}

TEST_CASE("merging knows the kind's common keys and its marks") {
  const Result r = from(std::string(toy::kGood), {"optim.name=adam"});
  CHECK(r.config.optims.items.at(0).common_as<toy::OptimizerDef>().lr == 0.1);
  CHECK(first_line(r.text) == "override:1:12: warning: 'momentum' of 'sgd' is dropped: optim is now 'adam'");
  CHECK(r.good);
}

TEST_CASE("a registry refuses a name twice; an empty reference fails in words") {
  Registry registry(toy::rows());
  CHECK_THROWS_WITH(registry.add(toy::rows().subspan(9, 1)),
                    "optimizers 'sgd' is defined twice, by registry/optimizers/sgd.cpp and by registry/optimizers/sgd.cpp; "
                    "a name belongs to one component of its kind");
  CHECK_THROWS(Ref<toy::ScheduleDef>{}.make());
  CHECK(registry.kinds() == std::vector<std::string>{"datasets", "layers", "losses", "models", "optimizers", "schedules"});
}

}  // namespace
}  // namespace lockstep
