// gelu: x Phi(x), elementwise, in its exact form.
#include "lockstep/nn/layers.h"

namespace lockstep {

extern constinit const LayerDef layers_gelu = component<LayerDef, Pointwise<gelu>, NoConfig, kNoFields>(
    {.doc = "Gaussian error linear unit, x times the normal distribution function of x (exact form).", .example = "gelu"});

}  // namespace lockstep
