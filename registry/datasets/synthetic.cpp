// synthetic: normal inputs and a linear teacher; data for tests, benches and first steps, made in memory.
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/copy.h"
#include "lockstep/base/philox.h"
#include "lockstep/base/text.h"
#include "lockstep/data/dataset.h"

namespace lockstep {
namespace {

struct Config {
  std::int64_t size = 1000;
  std::vector<std::int64_t> shape = {16};
  std::int64_t num_classes = 10;
  double noise = 0.1;
  std::int64_t seed = 0;

  [[nodiscard]] std::string problem() const {
    if (shape.size() >= kMaxRank) return fmt::format("shape has {} axes, and at most {} are possible", shape.size(), kMaxRank - 1);
    std::int64_t total = size;
    for (const std::int64_t d : shape) {
      if (__builtin_mul_overflow(total, d, &total) || total > (std::int64_t{1} << 32)) return "size times shape is more than 2^32 numbers";
    }
    return {};
  }
};
constexpr Field kFields[] = {
    field<&Config::size>("size", "Samples.").in(1, 1LL << 32),
    field<&Config::shape>("shape", "Shape of one input.").in(1, 1LL << 31).items(1),
    field<&Config::num_classes>("num_classes", "Classes of the target; 0: one real number.").in(0, 1LL << 20),
    field<&Config::noise>("noise", "Standard deviation of what is added to the teacher's outputs, which have about 1.").at_least(0),
    field<&Config::seed>("seed", "Which data; independent of the run's seed, as files on a disk would be.").in(0, 9007199254740991.0),
};

/// With d numbers x in a sample, all standard normal, and teacher weights w, standard normal too:
///   y_c = sum_i w_ci x_i / sqrt(d) + noise n_c
/// in f64, i ascending; the target is y_0 as f32, or the first c of the largest y_c. The teacher is one for all splits;
/// samples are keyed by the split's name.
class Synthetic final : public Dataset {
 public:
  Synthetic(const Config& c, const DatasetContext& context) : c_(c), split_(context.split) {
    Shape shape;
    for (const std::int64_t d : c.shape) shape.push_back(d);
    width_ = static_cast<std::size_t>(shape.numel());
    const std::size_t outputs = static_cast<std::size_t>(std::max<std::int64_t>(c.num_classes, 1));
    const auto seed = static_cast<std::uint64_t>(c.seed);
    std::vector<double> teacher(outputs * width_);
    PhiloxStream draws(rng_key(seed, "synthetic", "teacher"), {});
    for (double& w : teacher) w = draws.normal();

    const auto size = static_cast<std::size_t>(c.size);
    inputs_.resize(size * width_);
    targets_.resize(size);
    const PhiloxKey key = rng_key(seed, "synthetic", "split/" + split_);
    const double scale = 1.0 / std::sqrt(static_cast<double>(width_));
    for (std::size_t i = 0; i < size; ++i) make(i, key, teacher, scale);

    spec_.fields.push_back({"input", FieldRole::input, DType::f32, shape});
    if (c.num_classes > 0) {
      spec_.fields.push_back({"target", FieldRole::target, DType::i64, Shape{}, c.num_classes});
    } else {
      spec_.fields.push_back({"target", FieldRole::target, DType::f32, Shape{1}});
    }
  }

  [[nodiscard]] const SampleSpec& spec() const override { return spec_; }
  [[nodiscard]] std::int64_t size() const override { return c_.size; }
  void get(std::int64_t i, Sample& s) const override {
    const auto at = static_cast<std::size_t>(i);
    copy_bytes(s.values[0].data, inputs_.data() + at * width_, width_ * sizeof(float));
    if (c_.num_classes > 0) {
      *s.as<std::int64_t>(1) = targets_[at].label;
    } else {
      *s.as<float>(1) = targets_[at].value;
    }
  }
  void prefetch(std::int64_t i) const override {
    const auto at = static_cast<std::size_t>(i);
    prefetch_bytes(inputs_.data() + at * width_, width_ * sizeof(float));
    prefetch_bytes(targets_.data() + at, sizeof(Target));
  }
  [[nodiscard]] Manifest manifest() const override {
    Manifest m;
    m.generated = Json::object();
    m.generated.set("dataset", "synthetic").set("version", 1).set("split", split_).set("size", c_.size);
    m.generated.set("shape", Json::Array(c_.shape.begin(), c_.shape.end())).set("num_classes", c_.num_classes);
    m.generated.set("noise", c_.noise).set("seed", c_.seed);
    return m;
  }
  [[nodiscard]] std::optional<std::int64_t> label(std::int64_t i) const override {
    if (c_.num_classes == 0) return std::nullopt;
    return targets_[static_cast<std::size_t>(i)].label;
  }
  [[nodiscard]] std::string where(std::int64_t i) const override { return fmt::format("synthetic, split {}, sample {}", split_, i); }

 private:
  union Target {
    std::int64_t label;
    float value;
  };

  void make(std::size_t i, PhiloxKey key, const std::vector<double>& teacher, double scale) {
    PhiloxStream draws(key, {0, static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(i), 0});
    float* x = inputs_.data() + i * width_;
    for (std::size_t j = 0; j < width_; j += 2) {
      const std::uint32_t first = draws.next();
      const std::array<float, 2> pair = normal_pair(first, draws.next());
      x[j] = pair[0];
      if (j + 1 < width_) x[j + 1] = pair[1];
    }
    double best = 0;
    for (std::size_t c = 0; c * width_ < teacher.size(); ++c) {
      double y = 0;
      for (std::size_t j = 0; j < width_; ++j) y += teacher[c * width_ + j] * static_cast<double>(x[j]);
      y = y * scale + c_.noise * draws.normal();
      if (c_.num_classes == 0) {
        targets_[i].value = static_cast<float>(y);
      } else if (c == 0 || y > best) {
        best = y;
        targets_[i].label = static_cast<std::int64_t>(c);
      }
    }
  }

  Config c_;
  std::string split_;
  std::size_t width_ = 0;
  std::vector<float> inputs_;
  std::vector<Target> targets_;
  SampleSpec spec_;
};

}  // namespace

extern constinit const DatasetDef datasets_synthetic = component<DatasetDef, Synthetic, Config, kFields>(
    {.doc = "Normal inputs with targets of a random linear teacher, made in memory: classes or one real number.",
     .example = "synthetic: {size: 1000, shape: [16], num_classes: 10}"});

}  // namespace lockstep
