// What a segment ran on. Everything here is best effort: what cannot be learned stays empty.
#include "lockstep/track/environment.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "lockstep/base/cpu.h"
#include "lockstep/base/sha256.h"
#include "lockstep/base/version.h"

namespace lockstep {
namespace {

// The value of the first line `key<separator>value` of a file; quotes around it are dropped.
std::string line_value(const char* path, std::string_view key, char separator) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value = line.substr(at + 1);
    const std::size_t first = value.find_first_not_of(" \t\"");
    const std::size_t last = value.find_last_not_of(" \t\"");
    if (first == std::string::npos) return {};
    return value.substr(first, last - first + 1);
  }
  return {};
}

// Tells builds apart without reading 10 MB of executable.
std::string build_digest() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  struct stat stat {};
  if (size <= 0) return {};
  path[size] = '\0';
  if (::stat(path, &stat) != 0) return {};
  return hex(sha256(fmt::format("{} {} {}.{}", path, stat.st_size, stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec)))
      .substr(0, 16);
}

}  // namespace

Environment capture_environment() {
  Environment e;
  struct utsname name {};
  std::string system;
  if (::uname(&name) == 0) {
    e.host = name.nodename;
    system = fmt::format("{} {}", name.sysname, name.release);
  }
  const std::string pretty = line_value("/etc/os-release", "PRETTY_NAME", '=');
  e.os = pretty.empty() ? system : pretty + ", " + system;
  e.cpu = line_value("/proc/cpuinfo", "model name", ':');
  e.isa = text(best_isa());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) e.cores = CPU_COUNT(&set);
  e.compiler = compiler();
  e.build_type = build_type();
  e.lockstep_version = version();
  e.build = build_digest();
  return e;
}

Json environment_json(const Environment& e, const GitState& git) {
  Json state;
  if (!git.commit.empty()) {
    state = Json::object()
                .set("commit", git.commit)
                .set("dirty", git.dirty)
                .set("diff_sha256", git.diff_sha256.empty() ? Json() : Json(git.diff_sha256));
  }
  return Json::object()
      .set("host", e.host)
      .set("cpu", e.cpu)
      .set("cores", e.cores)
      .set("isa", e.isa)
      .set("os", e.os)
      .set("lockstep", e.lockstep_version)
      .set("compiler", e.compiler)
      .set("build_type", e.build_type)
      .set("build", e.build)
      .set("git", std::move(state));
}

}  // namespace lockstep
