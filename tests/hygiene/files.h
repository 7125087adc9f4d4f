// The project's own files, for the tests that read sources.
#pragma once

#include <string>
#include <vector>

namespace lockstep::test {

struct SourceFile {
  std::string path;   // from the root of the checkout
  std::string text;   // as it is
  std::string code;   // comments, strings and character literals blanked out, line breaks kept
  std::string layer;  // of files under include/lockstep, src and registry; empty for others
};

// C++ files under include, src, registry, tests and cmake, sorted by path.
const std::vector<SourceFile>& source_files();
// The lines of a text.
std::vector<std::string> lines(const std::string& text);
// What a file includes: the names between <> or "".
std::vector<std::string> includes(const SourceFile& file);

}  // namespace lockstep::test
