// Canonical form, identity, differences, schema, descriptions, and the checks of definitions.
#include <doctest/doctest.h>

#include <set>

#include "lockstep/component/describe.h"
#include "lockstep/component/schema.h"
#include "lockstep/config/load_yaml.h"
#include "print.h"
#include "toy.h"

namespace lockstep {
namespace {

using toy::Config;

const Registry& registry() {
  static const Registry r(toy::rows());
  return r;
}

Config config(const std::vector<std::string>& overrides = {}, const std::string& text = std::string(toy::kGood)) {
  Diagnostics d;
  Config out;
  const auto rules = position_rules<Config>(registry());
  const Composed c = compose(text_source("x.yaml", text, Source::Kind::file, "/home/u"), overrides, d, *rules);
  Reader r{registry(), d};
  const bool good = read(c.root, out, r);
  INFO(d.text());
  CHECK(good);
  CHECK_FALSE(d.has_errors());
  return out;
}

TEST_CASE("the canonical form leaves nothing out") {
  CHECK(canonical_text(canonical(config())) ==
        "name: toy\n"
        "seed: 0\n"
        "data:\n"
        "  train:\n"
        "    name: idx\n"
        "    root: /home/u/data\n"
        "    split: train\n"
        "  val:\n"
        "    name: idx\n"
        "    root: /home/u/data\n"
        "    split: train\n"
        "  batch_size: 64\n"
        "  workers: 0\n"
        "model:\n"
        "  name: sequential\n"
        "  layers:\n"
        "    - name: linear\n"
        "      out_features: 8\n"
        "      bias: true\n"
        "    - name: relu\n"
        "    - name: linear\n"
        "      out_features: 2\n"
        "      bias: true\n"
        "loss:\n"
        "  name: ce\n"
        "  label_smoothing: 0\n"
        "optim:\n"
        "  name: sgd\n"
        "  momentum: 0.9\n"
        "  nesterov: false\n"
        "  lr: 0.1\n"
        "  schedule:\n"
        "    name: constant\n"
        "  groups: []\n"
        "train:\n"
        "  epochs: 1\n"
        "  clip: null\n"
        "  shuffle: true\n"
        "  on_nan: stop\n"
        "  checkpoint:\n"
        "    keep: 1\n"
        "    every: null\n"
        "tags: {}\n");
}

TEST_CASE("the canonical form reads back to itself") {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"name=\"1e3\"", "tags={a: 0.1, \"b.c\": 1e-7, d: 1e300}"},
      {"name=$${x}", "data.val={b: idx, a: {name: idx, split: \"null\"}}"},
      {"loss={name: ce, coef: 0.25}", "optim.groups=[{pattern: \"*.bias\", lr: 1}, {pattern: ''}]"},
      {"model={layers: [{relu: , id: a}, {max_pool2d: {kernel_size: [2, 3]}, from: [a, x], repeat: 3}, residual: {layers: [relu]}]}"},
      {"train={on_nan: rollback, snapshot: 7, clip: .5, checkpoint: {every: 1e3}}"},
  };
  for (const auto& overrides : cases) {
    const Node first = canonical(config(overrides));
    const std::string text = canonical_text(first);
    INFO(text);
    Diagnostics d;
    CHECK(load_yaml(text_source("t", dump(first)), d) == first);
    CHECK(canonical(config({}, text)) == first);
  }
  const std::string many = "data: {train: idx}\nmodel: mlp\nlosses: {b: ce, a: {name: ce, coef: 2}}\noptims: [sgd, {adam: , id: x}]\n";
  const Node first = canonical(config({}, many));
  CHECK(canonical(config({}, canonical_text(first))) == first);
  CHECK(one_line(*first.find("losses")) == "[{name: ce, id: b, label_smoothing: 0}, {name: ce, id: a, coef: 2, label_smoothi...");
}

TEST_CASE("identity holds bits only, with versions, in byte order") {
  CHECK(identity(config()).dump() ==
        "{\"data\":{\"batch_size\":64,\"train\":{\"name\":\"idx@1\",\"split\":\"train\"},\"val\":{\"name\":\"idx@1\",\"split\":\"train\"}},"
        "\"loss\":{\"label_smoothing\":0,\"name\":\"ce@1\"},"
        "\"model\":{\"layers\":[{\"bias\":true,\"name\":\"linear@1\",\"out_features\":8},{\"name\":\"relu@1\"},"
        "{\"bias\":true,\"name\":\"linear@1\",\"out_features\":2}],\"name\":\"sequential@1\"},"
        "\"optim\":{\"groups\":[],\"lr\":0.1,\"momentum\":0.9,\"name\":\"sgd@1\",\"nesterov\":false,\"schedule\":{\"name\":\"constant@1\"}},"
        "\"seed\":0,\"train\":{\"clip\":null,\"on_nan\":\"stop\",\"shuffle\":true}}");
  const Json base = identity(config());
  CHECK(identity(config({"name=other", "data.workers=3", "train.epochs=9", "data.train.root=/else", "tags={a: 1}", "train.checkpoint.keep=4"})) == base);
  CHECK_FALSE(identity(config({"optim.lr=0.2"})) == base);
  CHECK(identity(config({"optim=adam"})).at("optim").at("name").string() == "adam@2");
}

TEST_CASE("bits_when looks at the whole config") {
  const Json cosine = identity(config({"optim.schedule=cosine"}));
  CHECK(cosine.at("train").at("epochs").integer() == 1);
  CHECK(identity(config({"optim.schedule=cosine", "train.epochs=2"})) != cosine);
}

TEST_CASE("equal configs written differently have one identity") {
  const Json a = identity(config({"optim={name: sgd, momentum: 9e-1, lr: .10}"}));
  CHECK(a == identity(config({"optim={lr: 0.1, name: sgd, momentum: 0.9}"})));
  CHECK(a == identity(config({}, "optims: {main: {name: sgd, momentum: 0.9, lr: 0.1}}\nlosses: {main: ce}\nmodel: {name: sequential, layers: [{name: linear, out_features: 8}, relu: {}, {linear: {out_features: 2}}]}\ndata: {train: {name: idx}, val: {main: idx}}\n")));
}

TEST_CASE("differences name the path, both values and the role") {
  const auto a = leaves(config());
  CHECK(text(difference(a, leaves(config({"optim.lr=0.2", "data.workers=2", "train.epochs=3", "data.train.root=/q", "model.layers+=relu"})))) ==
        "  data.train.root: /home/u/data -> /q  (location)\n"
        "  data.workers: 0 -> 2  (nuisance)\n"
        "  optim.lr: 0.1 -> 0.2  (bits)\n"
        "  train.epochs: 1 -> 3  (horizon)\n"
        "  model.layers.3.name: (absent) -> relu  (bits)\n");
  CHECK(difference(a, a).empty());
}

TEST_CASE("the definitions of the toy world are in order") {
  CHECK(check_registry(registry()) == std::vector<std::string>{});
  CHECK(check_fields(toy::kConfigFields, "root") == std::vector<std::string>{});
}

struct BadConfig {
  double p = 2;
  double id = 0;
  std::int64_t twice = 0;
};
constexpr Field kBad[] = {
    field<&BadConfig::p>("p", "").in(0, 1),
    field<&BadConfig::id>("id", "Reserved."),
    field<&BadConfig::twice>("twice", "Once.").only_when("never", "x"),
    field<&BadConfig::twice>("twice", "Twice."),
    field<&BadConfig::twice>("Bad", "Capital."),
    field<&BadConfig::twice>("bad", "Like its component."),
};
class Bad final : public toy::Schedule {
 public:
  explicit Bad(const BadConfig&) {}
  double at(double lr) const override { return lr; }
};
constinit const toy::ScheduleDef schedules_bad =
    component<toy::ScheduleDef, Bad, BadConfig, kBad>({.doc = "", .example = "bad: {q: 1}", .version = 0});

TEST_CASE("faulty definitions are found") {
  const ManifestRow rows[] = {{"schedules", "bad", &schedules_bad}, {"optimizers", "wrong", &schedules_bad}};
  const std::vector<std::string> found = check_registry(Registry(rows));
  std::string all;
  for (const std::string& f : found) all += f.substr(0, f.find('\n')) + "\n";
  CHECK(all ==
        "optimizers/wrong: defined as one of the schedules, but it lies among the optimizers\n"
        "schedules/bad: no documentation\n"
        "schedules/bad: versions count from 1\n"
        "schedules/bad.p: no documentation\n"
        "schedules/bad.p: the default 2 is not in [0, 1]; say .required() or give one that is\n"
        "schedules/bad.id: id, from, coef and repeat stand beside components\n"
        "schedules/bad.twice: only_when names 'never', which is no key here\n"
        "schedules/bad.twice: the key is there twice\n"
        "schedules/bad.Bad: a key is snake_case\n"
        "schedules/bad.bad: a key is not called like its component: an override could not tell them apart\n"
        "schedules/bad: the example does not read\n");
}

TEST_CASE("descriptions") {
  CHECK(describe(*registry().find("optimizers", "sgd")) ==
        "optim 'sgd' (version 1)\n"
        "  Gradient descent.\n"
        "\n"
        "keys\n"
        "  momentum: number, in [0, 1]  [0; bits]\n"
        "      Fraction of the velocity kept.\n"
        "  nesterov: boolean  [false; bits]\n"
        "      Look ahead.\n"
        "\n"
        "keys of every optim\n"
        "  lr: number, > 0  [0.001; bits]\n"
        "      Step size.\n"
        "  schedule: schedule  [constant; bits]\n"
        "      How lr changes.\n"
        "  groups: list of map of keys  [[]; bits]\n"
        "      Parameters with settings of their own.\n"
        "\n"
        "example\n"
        "  - sgd: {lr: 0.1, momentum: 0.9, schedule: {name: cosine, warmup_steps: 5}}\n"
        "\n"
        "file\n"
        "  registry/optimizers/sgd.cpp\n");
  CHECK(list_components(registry(), "layers") ==
        "layers\n"
        "  linear               Fully connected.\n"
        "  max_pool2d           Largest of a window.\n"
        "  relu                 max(x, 0).\n"
        "  residual             x + f(x).\n");
  CHECK(describe_json(*registry().find("layers", "linear")).dump() ==
        "{\"kind\":\"layers\",\"name\":\"linear\",\"doc\":\"Fully connected.\",\"version\":1,\"example\":\"linear: {out_features: 10}\",\"file\":\"\","
        "\"fields\":[{\"name\":\"out_features\",\"type\":\"integer\",\"doc\":\"Size of the last axis of the output.\",\"role\":\"bits\",\"required\":true,"
        "\"default\":null,\"range\":\"in [1, 1000000000]\"},{\"name\":\"bias\",\"type\":\"boolean\",\"doc\":\"Add a learned bias.\",\"role\":\"bits\","
        "\"required\":false,\"default\":\"true\",\"range\":null}],\"common\":[]}");
  CHECK(list_components_json(registry()).size() == toy::rows().size());
  toy::Train defaults;
  CHECK(fields_markdown(std::span(toy::kTrainFields).subspan(3, 2), &defaults) ==
        "| key | type | default | range | role | meaning |\n"
        "|---|---|---|---|---|---|\n"
        "| `on_nan` | stop \\| skip \\| rollback | `stop` |  | bits | What a NaN does. |\n"
        "| `snapshot` | integer | `100` | >= 1, only when on_nan is rollback | bits | Steps between two snapshots. |\n");
}

/// Every $ref in the schema must name a definition.
void check_refs(const Json& j, const Json& defs) {
  if (const Json* ref = j.find("$ref")) CHECK(defs.find(ref->string().substr(8)) != nullptr);
  if (j.is_object()) {
    for (const auto& [key, value] : j.members()) check_refs(value, defs);
  } else if (j.is_array()) {
    for (const Json& item : j.items()) check_refs(item, defs);
  }
}

TEST_CASE("the schema reaches every component") {
  const Json s = schema<Config>(registry());
  CHECK(s.at("$schema").string() == "https://json-schema.org/draft/2020-12/schema");
  CHECK(s.at("additionalProperties").boolean() == false);
  std::set<std::string> keys;
  for (const auto& [key, value] : s.at("properties").members()) keys.insert(key);
  CHECK(keys == std::set<std::string>{"data", "extends", "loss", "losses", "model", "name", "optim", "optims", "seed", "tags", "train", "vars"});
  const Json& defs = s.at("$defs");
  CHECK(defs.size() == 18);
  check_refs(s, defs);
  const std::string layers = defs.at("layers.item").dump();
  CHECK(layers.find("{\"enum\":[\"linear\",\"max_pool2d\",\"relu\",\"residual\"]}") != std::string::npos);
  CHECK(component_schema(*registry().find("schedules", "cosine"), registry()).dump() ==
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\",\"description\":\"Half a cosine down to zero.\","
        "\"properties\":{\"name\":{\"const\":\"cosine\"},\"warmup_steps\":{\"anyOf\":[{\"type\":\"integer\",\"minimum\":0.0},"
        "{\"type\":\"string\",\"pattern\":\"\\\\$\\\\{.*\\\\}\"}],\"description\":\"Steps of rising lr.\",\"default\":0}},"
        "\"required\":[\"name\"],\"additionalProperties\":false,\"$defs\":{}}");
}

}  // namespace
}  // namespace lockstep
