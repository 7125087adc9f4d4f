// What models, losses and metrics read from the data's spec.
#include "lockstep/nn/spec.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

Shape with_rows(const FieldSpec& f, std::int64_t rows) {
  Shape s{rows};
  for (const std::int64_t d : f.shape) s.push_back(d);
  return s;
}

}  // namespace

std::vector<Meta> input_metas(const SampleSpec& spec, std::int64_t rows) {
  std::vector<Meta> out;
  for (const FieldSpec& f : spec.fields)
    if (f.role == FieldRole::input) out.push_back({with_rows(f, rows), f.dtype, {}});
  if (out.empty()) fail(Category::usage, "the data has no field with the role input; a model needs one to read");
  return out;
}

Fields meta_fields(const SampleSpec& spec, std::int64_t rows) {
  Fields out;
  for (const FieldSpec& f : spec.fields) out.set(f.name, Tensor::empty(with_rows(f, rows), f.dtype, Device::meta));
  return out;
}

std::string target_name(const SampleSpec& spec, std::string_view who) {
  const FieldSpec* f = spec.first(FieldRole::target);
  if (f == nullptr) failf(Category::usage, "{}: the data has no field with the role target; choose a dataset with labels", who);
  return f->name;
}

void check_classes(std::string_view who, const Tensor& logits, const Tensor& target, std::int64_t num_classes) {
  const Shape &l = logits.shape(), &t = target.shape();
  if (!is_floating(logits.dtype()) || target.dtype() != DType::i64)
    failf(Category::usage, "{}: logits are {} and the target is {}; logits must be floating and the target class indices of int64",
          who, text(logits.dtype()), text(target.dtype()));
  if (l.rank() != 2 || t.rank() != 1 || l[0] != t[0])
    failf(Category::usage,
          "{}: logits are {} and the target is {}; logits must be [n, classes] and the target [n]: end the model with a "
          "linear layer of {} features over a flat input",
          who, text(l), text(t), num_classes > 0 ? std::to_string(num_classes) : std::string("as many as there are classes"));
  if (num_classes > 0 && l[1] != num_classes)
    failf(Category::usage, "{}: the model gives {} values a row, and the data has {} classes; they must be equal: set the last layer's out_features to {}",
          who, l[1], num_classes, num_classes);
}

}  // namespace lockstep
