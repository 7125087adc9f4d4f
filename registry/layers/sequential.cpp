// sequential: layers one after the other, as one layer; with an id, a named block.
#include "lockstep/nn/module.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<Ref<LayerDef>> layers;
};
constexpr Field kFields[] = {
    field<&Config::layers>("layers", "The layers, in order; names are their `id` or position.").items(1).required(),
};

class Sequential final : public Module {
 public:
  Sequential(const Config& c, const BuildContext& b) : Module(b), chain_(c.layers, b) {
    for (const auto& m : chain_.modules()) adopt(*m);
  }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override { return chain_.run(in); }

 private:
  Chain chain_;
};

}  // namespace

extern constinit const LayerDef layers_sequential = component<LayerDef, Sequential, Config, kFields>(
    {.doc = "Runs layers one after the other.", .example = "sequential: {layers: [relu, linear: {out_features: 8}]}"});

}  // namespace lockstep
