// lockstep doctor: what this build and machine are, and whether they keep the numeric contract.
#include <dlfcn.h>
#include <sys/statvfs.h>

#include <atomic>

#include "cli/command.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/file.h"
#include "lockstep/base/math.h"
#include "lockstep/base/pool.h"
#include "lockstep/base/text.h"
#include "lockstep/base/version.h"
#include "lockstep/term/table.h"
#include "lockstep/term/text_width.h"
#include "lockstep/track/environment.h"
#include "lockstep/track/store.h"

namespace lockstep {
namespace {

// x * x - y is 0 when the product is rounded before the subtraction, and 2^-54 when it is not.
constexpr double kX = 1.0 + 0x1p-27, kY = 1.0 + 0x1p-26;

bool contracted() {
  volatile double x = kX, y = kY;
  const double a = x, b = y;
  return a * a - b != 0.0;
}

#if defined(__x86_64__)
__attribute__((target("fma"))) double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#endif

// Whether fused multiply-adds round once, in hardware where there is any.
bool fma_right() {
  volatile double x = kX, y = -kY;
  const double a = x, c = y;
#if defined(__x86_64__)
  if (!has_fma()) return fma_emulated(a, a, c) == 0x1p-54;
#endif
  return fused(a, a, c) == 0x1p-54;
}

// Whether every thread of the pool rounds to nearest and keeps denormals.
bool environment_right() {
  std::atomic<bool> right = float_environment_ok();
  parallel_static([&](int, int) {
    if (!float_environment_ok()) right = false;
  });
  return right;
}

struct Cuda {
  bool found = false;
  std::string text;
};

// Asks the driver, if there is one; nothing here needs the CUDA toolkit.
Cuda probe_cuda() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {false, "no driver (libcuda.so.1) found"};
  using Init = int (*)(unsigned);
  using Number = int (*)(int*);
  const auto init = reinterpret_cast<Init>(::dlsym(library, "cuInit"));
  const auto version = reinterpret_cast<Number>(::dlsym(library, "cuDriverGetVersion"));
  const auto count = reinterpret_cast<Number>(::dlsym(library, "cuDeviceGetCount"));
  int driver = 0, devices = 0;
  if (init == nullptr || version == nullptr || count == nullptr) return {false, "libcuda.so.1 lacks its functions"};
  if (const int code = init(0); code != 0) return {false, fmt::format("driver found, but cuInit gives error {}", code)};
  if (version(&driver) != 0 || count(&devices) != 0) return {false, "driver found, but it does not answer"};
  return {devices > 0, fmt::format("driver {}.{}, {} device{}", driver / 1000, driver % 1000 / 10, devices,
                                   devices == 1 ? "" : "s")};
}

int run(const Args& args, Console& console) {
  const Environment e = capture_environment();
  std::vector<std::string_view> isas;
  Json isa_list = Json::array();
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (!supported(isa)) continue;
    isas.push_back(text(isa));
    isa_list.push(text(isa));
  }
  const bool no_contraction = !contracted(), fma = fma_right(), floats = environment_right();
  const Cuda cuda = probe_cuda();
  const bool fashion = real_files().exists("/usr/share/datasets/fashion-mnist");
  // The nearest folder that exists: where runs would be made.
  std::string disk_path = args.runs_dir;
  while (!real_files().exists(disk_path)) disk_path = parent_path(disk_path);
  struct statvfs disk {};
  const bool disk_known = ::statvfs(disk_path.c_str(), &disk) == 0;
  const auto free_bytes = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
  const auto network = network_filesystem(disk_path);
  const bool ok = no_contraction && fma && floats;

  Table table({{""}, {""}, {""}});
  const auto mark = [](bool good) { return std::string(good ? "ok" : "BAD"); };
  table.row({"lockstep", "", fmt::format("{} ({}, {})", e.lockstep_version, e.build_type, e.compiler)});
  table.row({"flags", "", std::string(build_flags())});
  table.row({"machine", "", fmt::format("{}, {} cores usable", e.cpu.empty() ? "unknown CPU" : e.cpu, e.cores)});
  table.row({"system", "", e.os});
  table.row({"instruction sets", "", fmt::format("{} (best: {})", join(isas, ", "), e.isa)});
  table.row({"fused multiply-add", mark(fma), fmt::format("{}, {}", has_fma() ? "in hardware" : "in software (slow)",
                                                          fma ? "rounds once" : "does not round once")});
  table.row({"contraction", mark(no_contraction),
             no_contraction ? "a*b+c is rounded twice" : "the compiler fused a*b+c: build without that flag"});
  table.row({"float environment", mark(floats),
             floats ? "round to nearest, denormals kept, on every thread"
                    : "some thread flushes denormals or rounds otherwise"});
  table.row({"CUDA", cuda.found ? "ok" : "-", cuda.text});
  table.row({"fashion-mnist", fashion ? "ok" : "-",
             fashion ? "/usr/share/datasets/fashion-mnist" : "not installed (package dataset-fashion-mnist)"});
  table.row({"SQLite", "", sqlite_version()});
  table.row({"runs", network ? "BAD" : "",
             fmt::format("{}, {} free{}", args.runs_dir, disk_known ? bytes_text(free_bytes) : "unknown",
                         network ? fmt::format(", on {}: keep it on a local disk", *network) : std::string())});
  console.result(table.text(),
                 Json::object()
                     .set("ok", ok)
                     .set("lockstep", e.lockstep_version)
                     .set("build_type", e.build_type)
                     .set("compiler", e.compiler)
                     .set("flags", build_flags())
                     .set("cpu", e.cpu)
                     .set("cores", e.cores)
                     .set("os", e.os)
                     .set("isa", std::move(isa_list))
                     .set("best_isa", e.isa)
                     .set("fma_hardware", has_fma())
                     .set("fma_rounds_once", fma)
                     .set("contraction_off", no_contraction)
                     .set("float_environment", floats)
                     .set("cuda", Json::object().set("found", cuda.found).set("text", cuda.text))
                     .set("datasets", Json::object().set("fashion_mnist", fashion))
                     .set("sqlite", sqlite_version())
                     .set("runs_dir", args.runs_dir)
                     .set("free_bytes", disk_known ? Json(free_bytes) : Json())
                     .set("network_filesystem", network ? Json(*network) : Json()));
  return ok ? 0 : 6;
}

}  // namespace

extern constinit const CommandDef command_doctor = {
    .name = "doctor",
    .doc = "Check that this build and machine keep the numeric contract",
    .about = "The exit code is 6 when they do not.",
    .example = "lockstep doctor",
    .run = run,
};

}  // namespace lockstep
