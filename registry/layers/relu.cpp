// relu: max(x, 0), elementwise.
#include "lockstep/nn/layers.h"

namespace lockstep {

extern constinit const LayerDef layers_relu = component<LayerDef, Pointwise<relu>, NoConfig, kNoFields>(
    {.doc = "Rectified linear unit: x where x > 0, else 0.", .example = "relu"});

}  // namespace lockstep
