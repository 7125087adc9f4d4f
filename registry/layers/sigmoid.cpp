// sigmoid: 1 / (1 + exp(-x)), elementwise.
#include "lockstep/nn/layers.h"

namespace lockstep {

extern constinit const LayerDef layers_sigmoid = component<LayerDef, Pointwise<sigmoid>, NoConfig, kNoFields>(
    {.doc = "Logistic function 1 / (1 + exp(-x)), elementwise.", .example = "sigmoid"});

}  // namespace lockstep
