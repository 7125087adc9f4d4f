// Components from YAML text, specs and batches: what tests of layers, losses and optimizers start from.
#pragma once

#include <string>
#include <string_view>

#include "lockstep/component/read.h"
#include "lockstep/config/load_yaml.h"
#include "lockstep/data/fields.h"
#include "lockstep/ops/builtin.h"

namespace lockstep::test {

/// The components that this test links.
inline const Registry& registry() {
  install_builtin_ops();
  static const Registry r{builtin_components()};
  return r;
}

/// Reads YAML text into a value of type T; throws the diagnostics as Error(usage).
template <class T>
T parsed(std::string_view yaml) {
  Diagnostics diagnostics;
  Reader reader{registry(), diagnostics};
  const Node root = load_yaml(text_source("test.yaml", std::string(yaml)), diagnostics);
  T out{};
  if (!diagnostics.has_errors()) read(root, out, reader);
  diagnostics.throw_errors();
  return out;
}
/// A component as a config names it: `sgd`, `{name: sgd, lr: 0.1}`.
template <class Def>
Ref<Def> chosen(std::string_view yaml) {
  return parsed<Ref<Def>>(yaml);
}
/// A component as an item of a list names it too: `linear: {out_features: 3}`.
template <class Def>
Ref<Def> item(std::string_view yaml) {
  return parsed<std::vector<Ref<Def>>>("- " + std::string(yaml)).at(0);
}

/// An input of f32 and class indices.
inline SampleSpec classes_spec(const Shape& input, std::int64_t classes) {
  SampleSpec s;
  s.fields.push_back({.name = "input", .role = FieldRole::input, .dtype = DType::f32, .shape = input});
  s.fields.push_back({.name = "target", .role = FieldRole::target, .dtype = DType::i64, .shape = {}, .num_classes = classes});
  return s;
}
/// An input and numbers to predict.
inline SampleSpec numbers_spec(const Shape& input, const Shape& target, DType t = DType::f32) {
  SampleSpec s;
  s.fields.push_back({.name = "input", .role = FieldRole::input, .dtype = t, .shape = input});
  s.fields.push_back({.name = "target", .role = FieldRole::target, .dtype = t, .shape = target});
  return s;
}

}  // namespace lockstep::test
