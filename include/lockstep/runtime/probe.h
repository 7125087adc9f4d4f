// What the files of a run say of themselves, for putting the store right.
#pragma once

#include "lockstep/track/run_dir.h"

namespace lockstep {

/// Verifies checkpoints whole and hashes exported models; nothing when a file is damaged or does not say.
/// `files` must outlive it.
CheckpointProbe checkpoint_probe(FileSystem& files);

}  // namespace lockstep
