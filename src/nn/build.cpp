// Building a model: children with a dry run on metas, chains of layers, the root.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/nn/module.h"
#include "lockstep/nn/spec.h"

namespace lockstep {
namespace {

std::string text_of(std::span<const Meta> metas) {
  std::string out;
  for (const Meta& m : metas) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", text(m.dtype), text(m.shape));
  return metas.size() == 1 ? out : fmt::format("({})", out);
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::string origin_of(const AnyRef& r) { return r.origin.written() ? r.origin.text() : std::string(); }

/// What is being built, for the frame of an error.
struct Building {
  const AnyRef& what;
  const std::string& path;
  std::span<const Meta> in;
};
std::string render_building(const void* p) {
  const auto& b = *static_cast<const Building*>(p);
  const std::string where = b.path.empty() ? "" : fmt::format(" as '{}'", b.path);
  return fmt::format("while building {}{} for input {}", b.what.shown(), where, text_of(b.in));
}

}  // namespace

std::vector<Meta> dry_run(const Module& m, std::span<const Meta> in) {
  Scope s;
  s.grad = false;
  s.training = false;
  const Within within(s);
  Tensors inputs;
  inputs.reserve(in.size());
  for (const Meta& i : in) inputs.push_back(Tensor::empty(i.shape, i.dtype, Device::meta));
  std::vector<Meta> out;
  for (const Tensor& t : m(inputs)) out.push_back(t.meta());
  return out;
}

BuildContext BuildContext::at(std::string_view name, std::span<const Meta> inputs) const {
  BuildContext b = *this;
  b.in = inputs;
  b.path = joined(path, name);
  return b;
}

BuildContext::Built BuildContext::child(const Ref<LayerDef>& what, std::string_view name, std::span<const Meta> inputs) const {
  BuildContext b = at(name, inputs);
  b.origin = origin_of(what);
  const Building building{what, b.path, inputs};
  const Frame frame(render_building, &building);
  Built built;
  built.module = what.make(b);
  built.out = dry_run(*built.module, inputs);
  return built;
}

std::int64_t BuildContext::in_features() const {
  if (in.empty() || in[0].shape.rank() == 0)
    failf(Category::usage, "the layer needs an input with at least one axis, and got {}; its last axis is the features", text_of(in));
  return in[0].shape[in[0].shape.rank() - 1];
}

std::optional<std::int64_t> BuildContext::num_classes() const {
  const FieldSpec* target = spec != nullptr ? spec->first(FieldRole::target) : nullptr;
  if (target == nullptr || target->num_classes == 0) return std::nullopt;
  return target->num_classes;
}

Chain::Chain(std::span<const Ref<LayerDef>> layers, const BuildContext& b) : out_(b.in.begin(), b.in.end()) {
  std::vector<std::string> names;
  for (const Ref<LayerDef>& layer : layers) {
    for (std::int64_t k = 0; k < layer.repeat; ++k) {
      std::string name = layer.id.empty() ? std::to_string(modules_.size()) : layer.id;
      if (!layer.id.empty() && layer.repeat > 1) name += fmt::format(".{}", k);
      if (std::ranges::find(names, name) != names.end())
        failf(Category::usage, "two layers of one list are called '{}' ({}); ids are unique, since parameters are named by them",
              joined(b.path, name), origin_of(layer));
      append(b.child(layer, name, out_));
      names.push_back(std::move(name));
    }
  }
}

void Chain::append(BuildContext::Built built) {
  modules_.push_back(std::move(built.module));
  out_ = std::move(built.out);
}

Tensors Chain::run(std::span<const Tensor> in) const {
  Tensors x(in.begin(), in.end());
  for (const auto& m : modules_) x = (*m)(x);
  return x;
}

BuiltModel build_model(const Ref<ModelDef>& what, const SampleSpec& spec, std::uint64_t seed, DType dtype, Device device, std::int64_t rows) {
  const std::vector<Meta> in = input_metas(spec, rows);
  BuildContext b{.in = in, .origin = origin_of(what), .seed = seed, .dtype = dtype, .spec = &spec, .device = device};
  const Building building{what, b.path, in};
  const Frame frame(render_building, &building);
  BuiltModel built;
  built.module = what.make(b);
  built.out = dry_run(*built.module, in);
  if (built.out.size() != 1 || built.out[0].shape.rank() == 0 || built.out[0].shape[0] != rows)
    failf(Category::usage, "the model makes {} of a batch of {} rows; it must make one output whose first axis is the batch",
          text_of(built.out), rows);
  return built;
}

}  // namespace lockstep
