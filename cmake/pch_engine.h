// The precompiled header of nn and the layers above it.
#include "pch.h"

#include "lockstep/data/dataset.h"
#include "lockstep/nn/module.h"
