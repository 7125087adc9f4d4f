// Signal handlers that only count.
#include "lockstep/base/signals.h"

#include <atomic>
#include <csignal>

namespace lockstep {

namespace {

constinit std::atomic<int> count{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch lock-free atomics only");

extern "C" void lockstep_on_interrupt(int signal) {
  if (count.fetch_add(1) + 1 < 2) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void let_writes_fail() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = lockstep_on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A closed terminal; `nohup` asked for it to be ignored.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  let_writes_fail();
}

int interrupts() { return count.load(); }
void clear_interrupts() { count.store(0); }

}  // namespace lockstep
