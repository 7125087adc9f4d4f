// The main function of every test binary.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  // The log of reached error sites begins anew with each run; child processes append to it.
  if (const char* log = std::getenv("LOCKSTEP_ERROR_LOG"); log != nullptr && *log != '\0') {
    if (std::FILE* file = std::fopen(log, "w")) std::fclose(file);
  }
  return doctest::Context(argc, argv).run();
}
