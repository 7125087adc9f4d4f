// sequential: the model that `layers:` stands for. Parameters are named as in torch.nn.Sequential: 0.weight, 0.bias, ...
#include "lockstep/nn/module.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<Ref<LayerDef>> layers;
};
constexpr Field kFields[] = {
    field<&Config::layers>("layers", "The layers, in order; names are their `id` or position.").items(1).required(),
};

class Sequential final : public Model {
 public:
  Sequential(const Config& c, const BuildContext& b) : Model(b), chain_(c.layers, b) {
    for (const auto& m : chain_.modules()) adopt(*m);
  }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override { return chain_.run(in); }

 private:
  Chain chain_;
};

}  // namespace

extern constinit const ModelDef models_sequential = component<ModelDef, Sequential, Config, kFields>(
    {.doc = "Layers one after the other; `model: {layers: [...]}` means this model.",
     .example = "sequential: {layers: [flatten, linear: {out_features: 10}]}"});

}  // namespace lockstep
