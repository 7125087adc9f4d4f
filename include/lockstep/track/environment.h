// What a segment ran on: recorded beside the run, never part of its identity, and never a reason to fail.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lockstep/base/json.h"

namespace lockstep {

struct Environment {
  std::string host, cpu, isa, os;                       // "Debian GNU/Linux 12, Linux 6.1.0"
  int cores = 0;                                        // that this process may run on
  std::string compiler, build_type, lockstep_version;
  std::string build;                                    // digest of the executable's path, size and time; short
};
/// Under a millisecond; what cannot be learned is empty.
Environment capture_environment();

/// The state of the git work tree a folder lies in. All empty where there is none, or no git.
struct GitState {
  std::string commit;       // 40 digits
  bool dirty = false;       // tracked files differ from the commit
  std::string diff_sha256;  // of `git diff HEAD`; empty when clean
};
/// Runs git, without a shell, for at most `timeout_ms` in all; what took longer is missing.
GitState git_state(const std::string& folder, int timeout_ms);

/// git_state() on a thread of its own, so that start-up does not wait for it.
class BackgroundGit {
 public:
  /// Starts at once.
  explicit BackgroundGit(std::string folder, int timeout_ms = 2000);
  ~BackgroundGit();
  BackgroundGit(const BackgroundGit&) = delete;
  BackgroundGit& operator=(const BackgroundGit&) = delete;
  /// Waits for it, at most until its timeout.
  const GitState& get();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Environment and git state as run.json and segments hold them.
Json environment_json(const Environment& environment, const GitState& git);

}  // namespace lockstep
