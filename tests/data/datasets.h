// Components from YAML text, and datasets that are counted, slow or broken on purpose.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/component/read.h"
#include "lockstep/config/load_yaml.h"
#include "lockstep/data/loader.h"

namespace lockstep::test {

/// A component as a config names it; throws the diagnostics as Error(usage).
template <class Def>
Ref<Def> chosen(std::string_view yaml) {
  static const Registry registry{builtin_components()};
  Diagnostics diagnostics;
  Reader reader{registry, diagnostics};
  const Node root = load_yaml(text_source("test.yaml", std::string(yaml)), diagnostics);
  Ref<Def> out;
  if (!diagnostics.has_errors()) read(root, out, reader);
  diagnostics.throw_errors();
  return out;
}
inline std::unique_ptr<Dataset> dataset(std::string_view yaml, std::string_view split = "train") {
  return chosen<DatasetDef>(yaml).make(DatasetContext{0, split});
}
inline std::unique_ptr<Transform> transform(std::string_view yaml) { return chosen<TransformDef>(yaml).make(); }

/// Field "input" u8 [3]: i, 2 i, 3 i. Field "target" i64: i. Sample `broken` throws; others sleep `delay` now and then.
class Counted final : public Dataset {
 public:
  explicit Counted(std::int64_t n, std::int64_t broken = -1, std::chrono::microseconds delay = {})
      : n_(n), broken_(broken), delay_(delay) {
    spec_.fields.push_back({"input", FieldRole::input, DType::u8, Shape{3}});
    spec_.fields.push_back({"target", FieldRole::target, DType::i64, Shape{}, n});
  }
  [[nodiscard]] const SampleSpec& spec() const override { return spec_; }
  [[nodiscard]] std::int64_t size() const override { return n_; }
  void get(std::int64_t i, Sample& s) const override {
    if (i == broken_) failf(Category::data, "sample {} is broken", i);
    if (i == -broken_ - 10) throw std::runtime_error("not an Error");
    if (delay_.count() > 0 && i % 5 == 0) std::this_thread::sleep_for(delay_);
    for (std::int64_t j = 0; j < 3; ++j) s.as<std::uint8_t>(0)[j] = static_cast<std::uint8_t>((j + 1) * i);
    *s.as<std::int64_t>(1) = i;
  }
  [[nodiscard]] Manifest manifest() const override { return {}; }
  [[nodiscard]] std::string where(std::int64_t i) const override { return "row " + std::to_string(i); }
  SampleSpec spec_;

 private:
  std::int64_t n_, broken_;
  std::chrono::microseconds delay_;
};

/// Adds a random byte to every input: shows that keys depend on (seed, epoch, sample, position) alone.
class AddNoise final : public Transform {
 public:
  [[nodiscard]] SampleSpec spec(const SampleSpec& in) const override { return in; }
  void apply(Sample& s, PhiloxKey key) const override {
    const Sample::Value old = s.values[0];
    std::byte* to = s.rewrite(0, old.shape, old.dtype);
    const PhiloxBlock b = philox(key, {});
    for (std::size_t j = 0; j < 3; ++j) to[j] = static_cast<std::byte>(std::to_integer<std::uint32_t>(old.data[j]) + b[j]);
  }
};

}  // namespace lockstep::test
