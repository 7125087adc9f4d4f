// linear: a fully connected layer over the last axis. x [..., in] -> [..., out]
#include "lockstep/nn/layers.h"

namespace lockstep {
namespace {

constexpr Field kFields[] = {
    field<&LinearConfig::out_features>("out_features", "Size of the last axis of the output.").in(1, 1e9).required(),
    field<&LinearConfig::bias>("bias", "Add a learned bias."),
};

}  // namespace

extern constinit const LayerDef layers_linear = component<LayerDef, Linear, LinearConfig, kFields>(
    {.doc = "Fully connected layer, y = x Wᵀ + b over the last axis; the size of the input is inferred.",
     .example = "linear: {out_features: 10}"});

}  // namespace lockstep
