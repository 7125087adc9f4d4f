// normalize: (x - mean) / std of every input, bytes first divided by 255.
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/data/transform.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<double> mean = {0.0}, std = {1.0};

  [[nodiscard]] std::string problem() const {
    if (mean.size() != std.size() && mean.size() != 1 && std.size() != 1)
      return fmt::format("mean has {} values and std {}: one for each channel, or one for all", mean.size(), std.size());
    for (const double s : std) {
      if (!(static_cast<float>(1.0 / (255.0 * s)) < std::numeric_limits<float>::infinity()))
        return fmt::format("a std of {} is too small to divide by", s);
    }
    return {};
  }
};
constexpr Field kFields[] = {
    field<&Config::mean>("mean", "Mean of each channel (the first axis), or one for all; of bytes, after division by 255.").items(1),
    field<&Config::std>("std", "Standard deviation of each channel, or one for all.").items(1).above(0),
};

// Whole blocks with a fixed count, so that compilers vectorise at the ordinary level; the bits are those of a plain loop.
template <class T>
void affine(const T* from, float* to, std::size_t n, float scale, float shift) {
  constexpr std::size_t kBlock = 16;
  std::size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    float x[kBlock];
    for (std::size_t j = 0; j < kBlock; ++j) x[j] = static_cast<float>(from[i + j]) * scale;
    for (std::size_t j = 0; j < kBlock; ++j) to[i + j] = x[j] + shift;
  }
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]) * scale + shift;
}

/// y = x * scale + shift, each product and sum rounded to f32, with scale and shift computed in f64 and rounded once:
///   bytes: scale = 1 / (255 std), shift = -mean / std        f32: scale = 1 / std, shift = -mean / std
class Normalize final : public Transform {
 public:
  explicit Normalize(const Config& c) {
    const std::size_t n = std::max(c.mean.size(), c.std.size());
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = c.mean[c.mean.size() == 1 ? 0 : i], deviation = c.std[c.std.size() == 1 ? 0 : i];
      channels_.push_back({static_cast<float>(1.0 / (255.0 * deviation)), static_cast<float>(1.0 / deviation),
                           static_cast<float>(-mean / deviation)});
    }
  }

  [[nodiscard]] SampleSpec spec(const SampleSpec& in) const override {
    SampleSpec out = in;
    bool any = false;
    for (FieldSpec& f : out.fields) {
      if (f.role != FieldRole::input) continue;
      any = true;
      if (f.dtype != DType::u8 && f.dtype != DType::f32) {
        failf(Category::usage, "normalize: field '{}' is {}; it works on uint8 and float32", f.name, text(f.dtype));
      }
      const std::int64_t have = f.shape.rank() == 0 ? 1 : f.shape[0];
      if (channels_.size() != 1 && have != static_cast<std::int64_t>(channels_.size())) {
        failf(Category::usage, "normalize: mean and std are for {} channels, and field '{}' of shape {} has {} (its first "
                               "axis): give one value, or one for each channel", channels_.size(), f.name, text(f.shape), have);
      }
      f.dtype = DType::f32;
    }
    if (!any) fail(Category::usage, "normalize: the samples have no input field to work on");
    return out;
  }

  void apply(Sample& s, PhiloxKey) const override {
    for (std::size_t f = 0; f < s.values.size(); ++f) {
      const Sample::Value v = s.values[f];
      if (s.spec->fields[f].role != FieldRole::input) continue;
      const auto total = static_cast<std::size_t>(v.shape.numel());
      const std::size_t each = total / channels_.size();
      if (v.dtype == DType::u8) {
        auto* to = reinterpret_cast<float*>(s.rewrite(f, v.shape, DType::f32));
        const auto* from = reinterpret_cast<const std::uint8_t*>(v.data);
        for (std::size_t c = 0; c < channels_.size(); ++c) {
          affine(from + c * each, to + c * each, each, channels_[c].byte_scale, channels_[c].shift);
        }
      } else {
        float* x = s.as<float>(f);
        for (std::size_t c = 0; c < channels_.size(); ++c) {
          affine(x + c * each, x + c * each, each, channels_[c].scale, channels_[c].shift);
        }
      }
    }
  }

 private:
  struct Channel {
    float byte_scale, scale, shift;
  };
  std::vector<Channel> channels_;
};

}  // namespace

extern constinit const TransformDef transforms_normalize = component<TransformDef, Normalize, Config, kFields>(
    {.doc = "Subtracts the mean and divides by the standard deviation, channel by channel; bytes are divided by 255 first.",
     .example = "normalize: {mean: [0.286], std: [0.353]}"});

}  // namespace lockstep
