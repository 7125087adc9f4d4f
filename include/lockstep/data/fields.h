// Named fields: what a sample, a batch and a model's output are made of.
#pragma once

#include <string>
#include <utility>

#include "lockstep/base/nh128.h"
#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// What a field is for. Transforms act by role; a model reads inputs; losses read targets.
enum class FieldRole : std::uint8_t { input, target, mask, weight };

/// One field of a sample: per-sample shape (no batch axis).
struct FieldSpec {
  std::string name;                          // "input", "target"
  FieldRole role = FieldRole::input;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t num_classes = 0;              // targets that are class indices in [0, num_classes); else 0
  std::vector<std::string> class_names{};    // empty or num_classes names
};
struct SampleSpec {
  std::vector<FieldSpec> fields;
  [[nodiscard]] const FieldSpec* find(std::string_view name) const;
  [[nodiscard]] const FieldSpec* first(FieldRole role) const;
};

/// Ordered name -> tensor. Small; found by linear search.
class Fields {
 public:
  void set(std::string_view name, Tensor t);
  [[nodiscard]] const Tensor* find(std::string_view name) const;
  /// Throws usage: names the field asked for and those there are.
  [[nodiscard]] const Tensor& at(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, Tensor>>& list() const { return list_; }
  /// Rows [begin, end) of every field, as views.
  [[nodiscard]] Fields rows(std::int64_t begin, std::int64_t end) const;
  /// Size of the first axis of the first field; 0 without fields.
  [[nodiscard]] std::int64_t size() const;

 private:
  std::vector<std::pair<std::string, Tensor>> list_;
};

/// Batch `step` of a pass: rows in the order of `samples`.
struct Batch {
  std::int64_t step = 0;                     // index of the batch: the global optimizer step (training) or within the pass (evaluation)
  std::int64_t epoch = 0;
  std::vector<std::int64_t> samples;         // dataset indices
  Fields fields;
  Nh128 digest;                              // of every field's bytes, row by row (NUMERICS, Hash)
};

}  // namespace lockstep
