// The lockstep executable.
#include "cli/run.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/signals.h"
#include "lockstep/ops/builtin.h"

int main(int argc, char** argv) {
  lockstep::let_writes_fail();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  lockstep::Console console;
  return lockstep::run_cli(arguments, lockstep::builtin_commands(), console, [] {
    lockstep::set_float_environment();
    lockstep::install_builtin_ops();
  });
}
