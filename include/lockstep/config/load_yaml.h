// Reads YAML text into a located tree. The rules are docs/config.md, "Text".
#pragma once

#include <string>

#include "lockstep/config/diagnostics.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// Bounds on what a text may expand to.
inline constexpr std::size_t kMaxNodes = 1'000'000;
inline constexpr int kMaxDepth = 200;

/// The file's text as a source. A byte order mark is dropped and CRLF becomes LF.
/// Throws Error(usage) when the file is missing or unreadable.
SourceRef read_source(const std::string& path);
/// A source from a text in memory; `folder` is made absolute (empty: the current directory).
SourceRef text_source(std::string name, std::string text, Source::Kind kind = Source::Kind::file,
                      std::string folder = {});

/// The one YAML document in `source.text` from byte `begin` on. An empty text is a null.
/// Errors go to `diagnostics`; the result is then a null or the part that could be read.
Node load_yaml(const SourceRef& source, Diagnostics& diagnostics, std::size_t begin = 0);

}  // namespace lockstep
