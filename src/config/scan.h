// The check of a source's bytes before YAML sees them, and of what may stand without quotes.
#pragma once

#include "lockstep/config/diagnostics.h"

namespace lockstep {

/// Reports bytes that are not UTF-8, control characters, and tabs in the indentation. True when there are none.
bool scan_bytes(const SourceRef& source, Diagnostics& diagnostics);

/// True when dump() can write this unquoted text without quotes; such a text holds nothing invisible and no line end.
bool plain_writable(std::string_view text);

}  // namespace lockstep
