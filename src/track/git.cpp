// The state of a git work tree, asked of git itself: a child process without a shell, bounded in time.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/sha256.h"
#include "lockstep/track/environment.h"

extern char** environ;

namespace lockstep {
namespace {

// Runs `git -C folder arguments...` until `deadline_ns`; gives its output to `sink` piece by piece. False when git is
// missing, fails or takes too long.
template <class Sink>
bool run_git(const std::string& folder, const std::vector<std::string>& arguments, std::int64_t deadline_ns,
             Sink&& sink) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  // --no-optional-locks: looking must never get in the way of the user's own git commands.
  std::vector<std::string> words = {"git", "--no-optional-locks", "-C", folder};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int spawned = ::posix_spawnp(&child, "git", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) {
    ::close(ends[0]);
    return false;
  }
  bool complete = false;
  char buffer[65536];
  while (true) {
    const std::int64_t left_ms = (deadline_ns - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) break;
    pollfd wait{ends[0], POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left_ms));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
    if (got < 0) break;
    if (got == 0) {
      complete = true;
      break;
    }
    sink(std::string_view(buffer, static_cast<std::size_t>(got)));
  }
  ::close(ends[0]);
  if (!complete) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return complete && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

GitState git_state(const std::string& folder, int timeout_ms) {
  const std::int64_t deadline = monotonic_ns() + std::int64_t{timeout_ms} * 1'000'000;
  GitState state;
  std::string commit;
  if (!run_git(folder, {"rev-parse", "HEAD"}, deadline, [&](std::string_view s) { commit += s; })) return state;
  while (!commit.empty() && commit.back() == '\n') commit.pop_back();
  state.commit = commit;
  Sha256 digest;
  bool changed = false;
  const bool complete = run_git(folder, {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"}, deadline,
                                [&](std::string_view s) {
                                  digest.update(s);
                                  changed = true;
                                });
  state.dirty = changed;
  if (changed && complete) state.diff_sha256 = hex(digest.digest());
  return state;
}

struct BackgroundGit::State {
  GitState result;
  std::thread thread;
};

BackgroundGit::BackgroundGit(std::string folder, int timeout_ms) : state_(std::make_unique<State>()) {
  try {
    state_->thread = std::thread([state = state_.get(), path = std::move(folder), timeout_ms] {
      try {
        state->result = git_state(path, timeout_ms);
      } catch (...) {
        state->result = {};  // out of memory, say: a run does not fail for want of this
      }
    });
  } catch (const std::system_error&) {
    // No thread to be had: the state stays empty.
  }
}

BackgroundGit::~BackgroundGit() { get(); }

const GitState& BackgroundGit::get() {
  if (state_->thread.joinable()) state_->thread.join();
  return state_->result;
}

}  // namespace lockstep
