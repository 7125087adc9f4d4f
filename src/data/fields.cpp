// Named fields and specs.
#include "lockstep/data/fields.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {

const FieldSpec* SampleSpec::find(std::string_view name) const {
  const auto at = std::ranges::find(fields, name, &FieldSpec::name);
  return at == fields.end() ? nullptr : &*at;
}

const FieldSpec* SampleSpec::first(FieldRole role) const {
  const auto at = std::ranges::find(fields, role, &FieldSpec::role);
  return at == fields.end() ? nullptr : &*at;
}

void Fields::set(std::string_view name, Tensor t) {
  for (auto& [key, tensor] : list_) {
    if (key == name) {
      tensor = std::move(t);
      return;
    }
  }
  list_.emplace_back(std::string(name), std::move(t));
}

const Tensor* Fields::find(std::string_view name) const {
  for (const auto& [key, tensor] : list_) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

const Tensor& Fields::at(std::string_view name) const {
  if (const Tensor* t = find(name)) return *t;
  std::vector<std::string> names;
  for (const auto& [key, tensor] : list_) names.push_back(quote(key));
  failf(Category::usage, "there is no field {}; there are: {}", quote(name), names.empty() ? "none" : join(names, ", "));
}

Fields Fields::rows(std::int64_t begin, std::int64_t end) const {
  Fields out;
  for (const auto& [key, t] : list_) {
    if (t.rank() == 0 || begin < 0 || begin > end || end > t.size(0)) {
      failf(Category::internal, "rows {} to {} of field {}, which has shape {}", begin, end, quote(key), text(t.shape()));
    }
    Shape s = t.shape();
    s[0] = end - begin;
    out.list_.emplace_back(key, Tensor::view_of(t, s, t.strides(), t.offset() + begin * t.strides()[0]));
  }
  return out;
}

std::int64_t Fields::size() const {
  return list_.empty() || list_.front().second.rank() == 0 ? 0 : list_.front().second.size(0);
}

}  // namespace lockstep
