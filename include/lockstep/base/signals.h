// SIGINT, SIGTERM and (unless `nohup` has it ignored) SIGHUP become a counter that the training loop polls.
#pragma once

namespace lockstep {

// A closed pipe and a file that grew to the limit of `ulimit -f` become failed writes with a message, like a full disk,
// instead of signals that kill.
void let_writes_fail();
// Installs the handlers, and lets writes fail. The second signal kills the process at once: a clean stop must not be the
// only way out.
void watch_interrupts();
// How many interrupts arrived since the start (or the last clear).
int interrupts();
void clear_interrupts();

}  // namespace lockstep
