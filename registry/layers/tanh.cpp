// tanh: the hyperbolic tangent, elementwise.
#include "lockstep/nn/layers.h"

namespace lockstep {

extern constinit const LayerDef layers_tanh = component<LayerDef, Pointwise<tanh>, NoConfig, kNoFields>(
    {.doc = "Hyperbolic tangent, elementwise.", .example = "tanh"});

}  // namespace lockstep
