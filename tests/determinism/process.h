// Runs the binary under test as a process of its own.
#pragma once

#include <string>
#include <vector>

namespace lockstep::determinism {

struct Outcome {
  int exit_code = 0;         // 128 + signal for one that was killed
  std::string out, err;      // stdout, stderr
};

/// Runs `arguments` (the first is the program's path) and waits. `scratch` is a folder for its output. Throws Error when it cannot start.
Outcome run_process(const std::vector<std::string>& arguments, const std::string& scratch);

}  // namespace lockstep::determinism
