// SIGINT and SIGTERM become a counter that the training loop polls.
#pragma once

namespace lockstep {

// Installs the handlers (and ignores SIGPIPE, so that a closed pipe is an error like any other). The third
// signal kills the process at once: a clean stop must not be the only way out.
void watch_interrupts();
// How many interrupts arrived since the start (or the last clear).
int interrupts();
void clear_interrupts();

}  // namespace lockstep
