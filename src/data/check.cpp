// Preflight checks of class indices.
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/data/dataset.h"

namespace lockstep {
namespace {

void check_one(const Dataset& data, std::string_view split, const FieldSpec& f, std::int64_t i, std::int64_t label) {
  if (label >= 0 && label < f.num_classes) return;
  failf(Category::data,
        "{}: sample {} ({}) has the class index {}, and field '{}' has {} classes, so indices lie in [0, {}]. Correct the "
        "label, or num_classes",
        split, i, data.where(i), label, f.name, f.num_classes, f.num_classes - 1);
}

}  // namespace

void check_targets(const Dataset& data, std::string_view split) {
  const SampleSpec& spec = data.spec();
  std::vector<std::size_t> classes;
  for (std::size_t f = 0; f < spec.fields.size(); ++f) {
    const FieldSpec& field = spec.fields[f];
    if (field.role == FieldRole::target && field.num_classes > 0 && field.dtype == DType::i64) classes.push_back(f);
  }
  if (classes.empty()) return;
  Sample s;
  for (std::size_t f = 0; f < spec.fields.size(); ++f) s.bind(f, nullptr, 0);
  for (std::int64_t i = 0; i < data.size(); ++i) {
    if (const auto known = classes.size() == 1 ? data.label(i) : std::nullopt) {
      check_one(data, split, spec.fields[classes.front()], i, *known);
      continue;
    }
    s.index = i;
    s.start(spec);
    data.get(i, s);
    for (const std::size_t f : classes) {
      const std::int64_t* labels = s.as<std::int64_t>(f);
      for (std::int64_t e = 0; e < spec.fields[f].shape.numel(); ++e) check_one(data, split, spec.fields[f], i, labels[e]);
    }
  }
}

void check_class_map(const SampleSpec& train, const SampleSpec& other, std::string_view split) {
  for (const FieldSpec& f : train.fields) {
    if (f.role != FieldRole::target) continue;
    const FieldSpec* g = other.find(f.name);
    if (g == nullptr) failf(Category::data, "{} has no field '{}', which the training split has", split, f.name);
    if (f.num_classes != g->num_classes) {
      failf(Category::data, "field '{}' has {} classes in train and {} in {}: the class map belongs to train, and every "
                            "split must use it. Write num_classes in both",
            f.name, f.num_classes, g->num_classes, split);
    }
    for (std::size_t c = 0; c < std::min(f.class_names.size(), g->class_names.size()); ++c) {
      if (f.class_names[c] != g->class_names[c]) {
        failf(Category::data, "class {} of field '{}' is called {} in train and {} in {}: both must have the same class map",
              c, f.name, quote(f.class_names[c]), quote(g->class_names[c]), split);
      }
    }
    if (f.class_names.size() != g->class_names.size()) {
      failf(Category::data, "field '{}' has {} class names in train and {} in {}: both must have the same class map", f.name,
            f.class_names.size(), g->class_names.size(), split);
    }
  }
}

}  // namespace lockstep
