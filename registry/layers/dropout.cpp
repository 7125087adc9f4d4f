// dropout: zeroes elements at random while training; the mask is a function of (seed, module path, step, shard).
#include "lockstep/nn/layers.h"

namespace lockstep {
namespace {

constexpr Field kFields[] = {
    field<&DropoutConfig::p>("p", "Probability that an element is zeroed.").from_below(0, 1),
};

}  // namespace

extern constinit const LayerDef layers_dropout = component<LayerDef, Dropout, DropoutConfig, kFields>(
    {.doc = "Zeroes elements with probability p while training and scales the others by 1 / (1 - p).",
     .example = "dropout: {p: 0.1}"});

}  // namespace lockstep
