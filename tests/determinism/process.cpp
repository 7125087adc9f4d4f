// posix_spawn with both outputs in files: no pipe that could fill while nobody reads.
#include "determinism/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "lockstep/base/text.h"

extern "C" char** environ;   // NOLINT: POSIX asks the program to declare it

namespace lockstep::determinism {

Outcome run_process(const std::vector<std::string>& arguments, const std::string& scratch) {
  const std::string out = join_path(scratch, "stdout"), err = join_path(scratch, "stderr");
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) failf(Category::usage, "{} cannot be started: {}; build it first", quote(arguments[0]), std::strerror(failed));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  Outcome result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = real_files().read_file(out);
  result.err = real_files().read_file(err);
  return result;
}

}  // namespace lockstep::determinism
