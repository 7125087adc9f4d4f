// The check of a source's bytes before YAML sees them.
#pragma once

#include "lockstep/config/diagnostics.h"

namespace lockstep {

/// Reports bytes that are not UTF-8, control characters, and tabs in the indentation. True when there are none.
bool scan_bytes(const SourceRef& source, Diagnostics& diagnostics);

}  // namespace lockstep
