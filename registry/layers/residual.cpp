// residual: y = shortcut(x) + branch(x); without a shortcut x itself, so the branch must keep the shape.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/nn/module.h"
#include "lockstep/ops/ops.h"

namespace lockstep {
namespace {

struct Config {
  std::vector<Ref<LayerDef>> layers;
  std::vector<Ref<LayerDef>> shortcut;
};
constexpr Field kFields[] = {
    field<&Config::layers>("layers", "The layers of the branch, in order; they hang right below this layer's name.").items(1).required(),
    field<&Config::shortcut>("shortcut", "Layers of the other path (a projection), below `shortcut`; none: the input itself."),
};

class Residual final : public Module {
 public:
  Residual(const Config& c, const BuildContext& b)
      : Module(b), branch_(c.layers, b), shortcut_(c.shortcut, b.at("shortcut", b.in)) {
    const auto &y = branch_.out(), &x = shortcut_.out();
    if (x.size() != 1 || y.size() != 1 || !(x[0] == y[0]))
      failf(Category::usage,
            "residual: the branch makes {} {}, and the shortcut gives {} {}; they are added, so they must be equal: "
            "end the branch with the shortcut's size, or give `shortcut` a projection",
            text(y[0].dtype), text(y[0].shape), text(x[0].dtype), text(x[0].shape));
    for (const auto& m : branch_.modules()) adopt(*m);
    for (const auto& m : shortcut_.modules()) adopt(*m);
  }

 protected:
  [[nodiscard]] Tensors forward(std::span<const Tensor> in) const override {
    const Tensors y = branch_.run(in);
    return {add(shortcut_.run(in)[0], y[0])};
  }

 private:
  Chain branch_, shortcut_;
};

}  // namespace

extern constinit const LayerDef layers_residual = component<LayerDef, Residual, Config, kFields>(
    {.doc = "Adds what a list of layers makes of the input to the input, or to a projection of it.",
     .example = "residual: {layers: [tanh], shortcut: []}"});

}  // namespace lockstep
