// Building models from configs: names, inferred sizes, errors that name path, line and shapes.
#include <doctest/doctest.h>

#include "components.h"
#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "lockstep/nn/module.h"
#include "lockstep/nn/spec.h"
#include "lockstep/ops/ops.h"
#include "paths.h"
#include "print.h"

using namespace lockstep;
using test::chosen, test::classes_spec, test::item;

namespace {

std::vector<std::string> names(const Module& m) {
  std::vector<std::string> out;
  for (const NamedTensor& t : m.state_tensors()) out.push_back(t.name);
  return out;
}
BuiltModel build(std::string_view yaml, const SampleSpec& spec) { return build_model(chosen<ModelDef>(yaml), spec, 42); }

/// The error of building `yaml` on inputs [n, 4] with 3 classes, frames included.
std::string error_of(std::string_view yaml) {
  const SampleSpec spec = classes_spec({4}, 3);
  try {
    (void)build(yaml, spec);
  } catch (const Error& e) {
    CHECK(e.category == Category::usage);
    return text(e);
  }
  return "no error";
}

Scope training() {
  Scope s;
  s.training = true;
  return s;
}

}  // namespace

TEST_CASE("state_dicts have PyTorch's names, shapes, dtypes and order") {
  const std::string path = std::string(test::kSourceDir) + "/tests/goldens/training/state_dict_names.json";
  const Json golden = Json::parse(real_files().read_file(path), path);
  for (const Json& entry : golden.at("models").items()) {
    CAPTURE(entry.at("model").string());
    Shape input;
    for (const Json& d : entry.at("input").items()) input.push_back(d.integer());
    const SampleSpec spec = classes_spec(input, entry.at("num_classes").integer());
    const BuiltModel built = build(entry.at("model").string(), spec);
    const auto have = built.module->state_tensors();
    const auto& want = entry.at("state_dict").items();
    REQUIRE(have.size() == want.size());
    for (std::size_t i = 0; i < have.size(); ++i) {
      Shape shape;
      for (const Json& d : want[i].items()[1].items()) shape.push_back(d.integer());
      CHECK(have[i].name == want[i].items()[0].string());
      CHECK(text(have[i].tensor.shape()) == text(shape));
      CHECK(std::string(text(have[i].tensor.dtype())) == want[i].items()[2].string());
    }
  }
}

TEST_CASE("mlp flattens, takes out_features from the classes, and numbers its layers without gaps") {
  const SampleSpec spec = classes_spec({28, 28}, 10);
  const BuiltModel m = build("{name: mlp, hidden_features: [128]}", spec);
  CHECK(names(*m.module) == std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
  CHECK(m.out.at(0).shape == Shape{2, 10});
  CHECK((*m.module)(Tensor::zeros({3, 28, 28})).shape() == Shape{3, 10});
  CHECK(build("{name: mlp, hidden_features: [], out_features: 7}", spec).out.at(0).shape == Shape{2, 7});
}

TEST_CASE("ids name layers, repeats are written out") {
  const SampleSpec spec = classes_spec({4}, 3);
  const BuiltModel m = build(
      "layers:\n- {name: linear, id: stem, out_features: 6}\n- {name: linear, out_features: 6, repeat: 2, bias: false}\n"
      "- {name: sequential, id: head, repeat: 2, layers: [{linear: {out_features: 6, bias: false}}]}\n"
      "- linear: {out_features: 3, bias: false}\n",
      spec);
  CHECK(names(*m.module) == std::vector<std::string>{"stem.weight", "stem.bias", "1.weight", "2.weight", "head.0.0.weight",
                                                     "head.1.0.weight", "5.weight"});
}

TEST_CASE("adding a layer elsewhere changes no other initial value where layers have ids") {
  const SampleSpec spec = classes_spec({4}, 3);
  const auto a = build("layers: [{name: linear, id: a, out_features: 4}, {name: linear, id: b, out_features: 3}]", spec);
  const auto b = build("layers: [relu, {name: linear, id: a, out_features: 4}, tanh, {name: linear, id: b, out_features: 3}]", spec);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(a.module->state_tensors()[i].tensor.to_doubles() == b.module->state_tensors()[i].tensor.to_doubles());
}

TEST_CASE("a residual adds, with and without a shortcut") {
  const SampleSpec spec = classes_spec({4}, 3);
  const auto m = build("layers: [residual: {layers: [relu]}]", spec);
  CHECK((*m.module)(Tensor::of<float>({1, -2, 3, -4}, {1, 4})).to_doubles() == std::vector<double>{2, -2, 6, -4});
  const auto p = build("layers: [residual: {layers: [linear: {out_features: 2}], shortcut: [linear: {out_features: 2, bias: false}]}]", spec);
  CHECK(names(*p.module) == std::vector<std::string>{"0.0.weight", "0.0.bias", "0.shortcut.0.weight"});
  CHECK(p.out.at(0).shape == Shape{2, 2});
}

TEST_CASE("batch_norm1d asks for updates of its statistics once a training forward, unbiased variance") {
  const SampleSpec spec = classes_spec({2}, 3);
  const auto m = build("layers: [batch_norm1d: {momentum: 0.5}]", spec);
  const Tensor x = Tensor::of<float>({1, 10, 3, 14}, {2, 2});
  Effects effects;
  Scope s = training();
  s.effects = &effects;
  const Within within(s);
  const Tensor y = (*m.module)(x);
  CHECK(y.to_doubles()[0] == doctest::Approx(-1).epsilon(1e-4));
  REQUIRE(effects.list.size() == 3);
  CHECK(effects.list[0].statistic.to_doubles() == std::vector<double>{2, 12});
  CHECK(effects.list[1].statistic.to_doubles() == std::vector<double>{2, 8});
  CHECK(effects.list[0].momentum == 0.5);
  CHECK_FALSE(effects.list[2].statistic.defined());
  CHECK(effects.list[2].buffer.dtype() == DType::i64);
  scope.effects = nullptr;                              // recompute: nothing is asked for
  (void)(*m.module)(x);
  CHECK(effects.list.size() == 3);
}

TEST_CASE("batch_norm1d evaluates with the running statistics") {
  const SampleSpec spec = classes_spec({2}, 3);
  const auto m = build("layers: [batch_norm1d: {eps: 1e-12}]", spec);
  auto tensors = m.module->state_tensors();
  copy_(tensors[2].tensor, Tensor::of<float>({1, 2}, {2}));
  copy_(tensors[3].tensor, Tensor::of<float>({4, 9}, {2}));
  CHECK((*m.module)(Tensor::of<float>({3, 5}, {1, 2})).to_doubles() == std::vector<double>{1, 1});
}

TEST_CASE("batch_norm1d refuses a single row in training and says what to do") {
  const SampleSpec spec = classes_spec({2}, 3);
  const auto m = build("layers: [batch_norm1d]", spec);
  const Within within(training());
  CHECK_THROWS_WITH_AS((void)(*m.module)(Tensor::zeros({1, 2})),
                       "batch_norm1d '0': the input of this training step is [1, 2], 1 value a channel; their variance needs at least 2: "
                       "choose data.loader.batch_size or train.shards so that no shard of the last batch has a single row, or set "
                       "data.loader.drop_last",
                       Error);
}

TEST_CASE("an error while building names layer, line, path, input and rule") {
  const std::string e = error_of("layers:\n- relu\n- residual:\n    layers:\n    - linear: {out_features: 5}\n");
  CHECK(e ==
        "residual: the branch makes float32 [2, 5], and the shortcut gives float32 [2, 4]; they are added, so they must be equal: "
        "end the branch with the shortcut's size, or give `shortcut` a projection\n"
        "  while building layer 'residual' (test.yaml:3:3) as '1' for input float32 [2, 4]\n"
        "  while building model 'sequential' (test.yaml:1:1) for input float32 [2, 4]");
}

TEST_CASE("sizes that cannot be known, and inputs that do not fit, are refused in words") {
  const SampleSpec numbers = test::numbers_spec({4}, {2});
  CHECK_THROWS_WITH_AS((void)build("{name: mlp, hidden_features: [3]}", numbers),
                       "mlp: out_features is not given and the data's target has no number of classes to take it from; set out_features", Error);
  const SampleSpec image = classes_spec({2, 2, 2, 2}, 3);
  CHECK_THROWS_WITH_AS((void)build("layers: [batch_norm1d]", image),
                       "batch_norm1d: the input is [2, 2, 2, 2, 2]; it takes [n, channels] or [n, channels, length]: put a flatten before it", Error);
  CHECK(error_of("layers: [flatten: {start_dim: 0}]").starts_with(
      "the model makes float32 [8] of a batch of 2 rows; it must make one output whose first axis is the batch"));
  const SampleSpec none;
  CHECK_THROWS_AS((void)build("layers: [relu]", none), Error);
}

TEST_CASE("two layers of one name are refused") {
  CHECK(error_of("layers: [{name: relu, id: a}, {name: tanh, id: a}]").find("a") != std::string::npos);
}

TEST_CASE("layers without a last axis and models of several inputs are refused") {
  const Meta scalar[] = {{{}, DType::f32, {}}};
  CHECK_THROWS_WITH_AS(static_cast<void>((BuildContext{.in = scalar}.in_features())),
                       "the layer needs an input with at least one axis, and got float32 []; its last axis is the features", Error);
  SampleSpec spec = classes_spec({}, 3);
  CHECK_THROWS_WITH_AS((void)build("{name: mlp, hidden_features: [3]}", spec), "mlp: it takes one input [n, ...], and the data gives 1 inputs, the first [2]", Error);
}
