// mlp: linear layers with an activation between them; the input is flattened. x [n, ...] -> [n, out_features]
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/nn/layers.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<std::int64_t> hidden_features;
  std::optional<std::int64_t> out_features;
  std::optional<Ref<LayerDef>> norm;
  Ref<LayerDef> activation;
  double dropout = 0;
  bool bias = true;
};
constexpr Field kFields[] = {
    field<&Config::hidden_features>("hidden_features", "Sizes of the hidden layers, in order; [] is a linear model.").in(1, 1e9).required(),
    field<&Config::out_features>("out_features", "Size of the output; none: the number of classes of the data.").in(1, 1e9),
    field<&Config::norm>("norm", "Layer after each hidden linear layer, before the activation."),
    field<&Config::activation>("activation", "Layer after each hidden layer.").otherwise("relu"),
    field<&Config::dropout>("dropout", "Probability of a dropout after each activation; 0: no such layer.").from_below(0, 1),
    field<&Config::bias>("bias", "Add learned biases in the linear layers."),
};

/// Layers are numbered in order, without gaps, as in a torch.nn.Sequential of the same layers.
class Mlp final : public Model {
 public:
  Mlp(const Config& c, const BuildContext& b) : Model(b) {
    at_ = {flat(b)};
    for (const std::int64_t width : c.hidden_features) {
      append<Linear>(LinearConfig{width, c.bias}, b);
      if (c.norm) append(*c.norm, b);
      append(c.activation, b);
      if (c.dropout > 0) append<Dropout>(DropoutConfig{c.dropout}, b);
    }
    append<Linear>(LinearConfig{outputs(c, b), c.bias}, b);
    for (const auto& m : chain_.modules()) adopt(*m);
  }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override {
    const Tensor x = in[0].rank() == 2 ? in[0] : flatten(in[0]);
    return chain_.run(std::span<const Tensor>(&x, 1));
  }

 private:
  static Meta flat(const BuildContext& b) {
    if (b.in.size() != 1 || b.in[0].shape.rank() < 2)
      failf(Category::usage, "mlp: it takes one input [n, ...], and the data gives {} inputs, the first {}", b.in.size(),
            b.in.empty() ? "none" : text(b.in[0].shape));
    const Shape& s = b.in[0].shape;
    return {{s[0], s.numel() / std::max<std::int64_t>(s[0], 1)}, b.in[0].dtype, {}};
  }
  static std::int64_t outputs(const Config& c, const BuildContext& b) {
    const std::optional<std::int64_t> n = c.out_features ? c.out_features : b.num_classes();
    if (!n)
      fail(Category::usage, "mlp: out_features is not given and the data's target has no number of classes to take it from; set out_features");
    return *n;
  }
  template <class Layer, class LayerConfig>
  void append(const LayerConfig& c, const BuildContext& b) {
    BuildContext::Built built{std::make_unique<Layer>(c, b.at(next_name(), at_)), {}};
    built.out = dry_run(*built.module, at_);
    keep(std::move(built));
  }
  void append(const Ref<LayerDef>& layer, const BuildContext& b) { keep(b.child(layer, next_name(), at_)); }
  void keep(BuildContext::Built built) {
    chain_.append(std::move(built));
    at_ = chain_.out();
  }
  [[nodiscard]] std::string next_name() const { return std::to_string(chain_.modules().size()); }

  Chain chain_;
  std::vector<Meta> at_;
};

}  // namespace

extern constinit const ModelDef models_mlp = component<ModelDef, Mlp, Config, kFields>(
    {.doc = "Multi-layer perceptron: flattens its input; each hidden layer is linear, norm, activation, dropout.",
     .example = "mlp: {hidden_features: [128], out_features: 10}"});

}  // namespace lockstep
