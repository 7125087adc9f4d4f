// batch_norm1d: normalises each channel over the batch (Ioffe and Szegedy 2015), as torch.nn.BatchNorm1d.
// x [n, c] or [n, c, l] -> the same shape
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/nn/module.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
};
constexpr Field kFields[] = {
    field<&Config::eps>("eps", "Added to the variance.").above(0, 1),
    field<&Config::momentum>("momentum", "Part of a step's statistics that enters the running ones.").in(0, 1),
    field<&Config::affine>("affine", "Learn a factor and an offset a channel."),
};

/// Channels of x [n, c] or [n, c, l].
std::int64_t channels(const BuildContext& b) {
  const Shape s = b.in.empty() ? Shape{} : b.in[0].shape;
  if (s.rank() != 2 && s.rank() != 3)
    failf(Category::usage, "batch_norm1d: the input is {}; it takes [n, channels] or [n, channels, length]: put a flatten before it", text(s));
  return s[1];
}

class BatchNorm1d final : public Module {
 public:
  BatchNorm1d(const Config& c, const BuildContext& b) : Module(b), c_(c) {
    const Shape s{channels(b)};
    if (c.affine) {
      weight_ = parameter("weight", s, Init::ones());
      bias_ = parameter("bias", s, Init::zeros());
    }
    running_mean_ = buffer("running_mean", s, 0, b.dtype);
    running_var_ = buffer("running_var", s, 1, b.dtype);
    num_batches_tracked_ = buffer("num_batches_tracked", {}, 0, DType::i64);
  }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override {
    return {scope.training ? by_batch(in[0]) : by_running(in[0])};
  }

 private:
  [[nodiscard]] Tensor by_batch(const Tensor& x) const {
    const std::int64_t n = x.size(1) > 0 ? x.numel() / x.size(1) : 0;   // values a channel
    if (n < 2)
      failf(Category::usage,
            "batch_norm1d '{}': the input of this training step is {}, {} value a channel; their variance needs at least 2: "
            "choose data.loader.batch_size or train.shards so that no shard of the last batch has a single row, or set "
            "data.loader.drop_last",
            path(), text(x.shape()), n);
    Tensors out = batch_norm(x, weight_, bias_, c_.eps);
    if (scope.effects != nullptr) {
      const NoGrad no_history;
      const double unbias = static_cast<double>(n) / static_cast<double>(n - 1);
      auto& list = scope.effects->list;
      const std::uint32_t shard = scope.rng.shard;
      list.push_back({running_mean_, out[1].detach(), c_.momentum, shard});
      list.push_back({running_var_, mul_scalar(out[2].detach(), unbias), c_.momentum, shard});
      list.push_back({num_batches_tracked_, {}, c_.momentum, shard});
    }
    return std::move(out[0]);
  }

  [[nodiscard]] Tensor by_running(const Tensor& x) const {
    Shape s{1, x.size(1)};
    if (x.rank() == 3) s.push_back(1);
    Tensor y = div(sub(x, reshape(running_mean_, s)), sqrt(add_scalar(reshape(running_var_, s), c_.eps)));
    if (weight_) y = add(mul(y, reshape(weight_, s)), reshape(bias_, s));
    return y;
  }

  Config c_;
  Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_;
};

}  // namespace

extern constinit const LayerDef layers_batch_norm1d = component<LayerDef, BatchNorm1d, Config, kFields>(
    {.doc = "Batch normalisation over [n, channels] or [n, channels, length]; running statistics serve evaluation.",
     .example = "batch_norm1d: {momentum: 0.1}"});

}  // namespace lockstep
