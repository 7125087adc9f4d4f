// Merging files of a typed config: marks, common keys, and positions below components.
#include <doctest/doctest.h>

#include "lockstep/config/load_yaml.h"
#include "temp_folder.h"
#include "toy.h"

namespace lockstep {
namespace {

/// `over` put over `base` by overrides that replace nothing but merge: both are written into one config in two files.
std::string merged(const std::string& base, const std::string& over, std::string* warnings = nullptr) {
  const test::TempFolder files;
  files.write("base.yaml", base);
  const std::string file = files.write("x.yaml", "extends: base.yaml\n" + over);
  const Registry registry(toy::rows());
  Diagnostics d;
  const auto rules = position_rules<toy::Config>(registry);
  const Composed c = compose(file, {}, d, *rules);
  if (warnings != nullptr) {
    for (const Diagnostic& w : d.list()) *warnings += w.message + "\n";
  }
  CHECK_FALSE(d.has_errors());
  return one_line(c.root, 1000);
}

TEST_CASE("common keys stay when the name changes, own keys go") {
  std::string warnings;
  CHECK(merged("optim: {name: sgd, momentum: 0.9, lr: 0.1, schedule: cosine}\n", "optim: {name: adam, beta1: 0.8}\n", &warnings) ==
        "{optim: {name: adam, lr: 0.1, schedule: cosine, beta1: 0.8}}");
  CHECK(warnings == "'momentum' of 'sgd' is dropped: optim is now 'adam'\n");
}

TEST_CASE("a mark over another component chooses the implied one") {
  std::string warnings;
  CHECK(merged("model: {name: mlp, hidden: [3]}\n", "model: {layers: [relu]}\n", &warnings) == "{model: {layers: [relu]}}");
  CHECK(warnings == "'hidden' of 'mlp' is dropped: model is now 'sequential'\n");
  CHECK(merged("model: {layers: [relu]}\n", "model: {name: mlp}\n") == "{model: {name: mlp}}");
  CHECK(merged("model: mlp\n", "model: {layers: [relu]}\n") == "{model: {layers: [relu]}}");
  CHECK(merged("model: {name: sequential, layers: [relu]}\n", "model: {layers: [gelu]}\n") ==
        "{model: {name: sequential, layers: [gelu]}}");
}

TEST_CASE("a map that is no component merges though it holds `name`") {
  CHECK(merged("tags: {name: 1, a: 2}\n", "tags: {name: 3}\n") == "{tags: {name: 3, a: 2}}");
}

TEST_CASE("one or many: a map of ids merges by id") {
  CHECK(merged("data: {val: {a: idx}}\n", "data: {val: {b: idx, a: {split: t}}}\n") ==
        "{data: {val: {a: {name: idx, split: t}, b: idx}}}");
}

TEST_CASE("nested positions are found through components") {
  CHECK(merged("optim: {name: sgd, schedule: {name: cosine, warmup_steps: 3}}\n", "optim: {schedule: {name: constant}}\n") ==
        "{optim: {name: sgd, schedule: {name: constant}}}");
  CHECK(merged("optim: {name: sgd, schedule: cosine}\n", "optim: {schedule: {warmup_steps: 4}}\n") ==
        "{optim: {name: sgd, schedule: {name: cosine, warmup_steps: 4}}}");
}

}  // namespace
}  // namespace lockstep
