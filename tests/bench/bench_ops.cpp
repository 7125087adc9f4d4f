// Kernels against the machine and against PyTorch: matrix products in % of the FMA peak probed in the same run,
// the others in GB/s beside a plain copy. No pass or fail.
// bench_ops [--threads N] [--rounds N] [--python PATH] [--only TEXT: lines that hold it]
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lockstep/base/pool.h"
#include "lockstep/kernels/cpu.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"

using namespace lockstep;

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

// Independent chains, unrolled by hand: a loop over an array of registers measures loads instead. Each starts from
// another value, or the compiler would compute equal chains once.
#if defined(__x86_64__)
__attribute__((target("avx2,fma"), noinline)) double fma_avx2(std::int64_t loops) {
  const __m256 m = _mm256_set1_ps(0.999999F), c = _mm256_set1_ps(1e-6F);
  __m256 a0 = c, a1 = a0 + c, a2 = a1 + c, a3 = a2 + c, a4 = a3 + c, a5 = a4 + c;
  __m256 a6 = a5 + c, a7 = a6 + c, a8 = a7 + c, a9 = a8 + c, a10 = a9 + c, a11 = a10 + c;
  for (std::int64_t i = 0; i < loops; ++i) {
    a0 = _mm256_fmadd_ps(a0, m, c), a1 = _mm256_fmadd_ps(a1, m, c), a2 = _mm256_fmadd_ps(a2, m, c);
    a3 = _mm256_fmadd_ps(a3, m, c), a4 = _mm256_fmadd_ps(a4, m, c), a5 = _mm256_fmadd_ps(a5, m, c);
    a6 = _mm256_fmadd_ps(a6, m, c), a7 = _mm256_fmadd_ps(a7, m, c), a8 = _mm256_fmadd_ps(a8, m, c);
    a9 = _mm256_fmadd_ps(a9, m, c), a10 = _mm256_fmadd_ps(a10, m, c), a11 = _mm256_fmadd_ps(a11, m, c);
  }
  const __m256 x = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
  return static_cast<double>(_mm256_cvtss_f32(x));
}
__attribute__((target("avx512f"), noinline)) double fma_avx512(std::int64_t loops) {
  const __m512 m = _mm512_set1_ps(0.999999F), c = _mm512_set1_ps(1e-6F);
  __m512 a0 = c, a1 = a0 + c, a2 = a1 + c, a3 = a2 + c, a4 = a3 + c, a5 = a4 + c, a6 = a5 + c, a7 = a6 + c;
  __m512 a8 = a7 + c, a9 = a8 + c, b0 = a9 + c, b1 = b0 + c, b2 = b1 + c, b3 = b2 + c, b4 = b3 + c, b5 = b4 + c;
  __m512 b6 = b5 + c, b7 = b6 + c, b8 = b7 + c, b9 = b8 + c;
  for (std::int64_t i = 0; i < loops; ++i) {
    a0 = _mm512_fmadd_ps(a0, m, c), a1 = _mm512_fmadd_ps(a1, m, c), a2 = _mm512_fmadd_ps(a2, m, c);
    a3 = _mm512_fmadd_ps(a3, m, c), a4 = _mm512_fmadd_ps(a4, m, c), a5 = _mm512_fmadd_ps(a5, m, c);
    a6 = _mm512_fmadd_ps(a6, m, c), a7 = _mm512_fmadd_ps(a7, m, c), a8 = _mm512_fmadd_ps(a8, m, c);
    a9 = _mm512_fmadd_ps(a9, m, c), b0 = _mm512_fmadd_ps(b0, m, c), b1 = _mm512_fmadd_ps(b1, m, c);
    b2 = _mm512_fmadd_ps(b2, m, c), b3 = _mm512_fmadd_ps(b3, m, c), b4 = _mm512_fmadd_ps(b4, m, c);
    b5 = _mm512_fmadd_ps(b5, m, c), b6 = _mm512_fmadd_ps(b6, m, c), b7 = _mm512_fmadd_ps(b7, m, c);
    b8 = _mm512_fmadd_ps(b8, m, c), b9 = _mm512_fmadd_ps(b9, m, c);
  }
  const __m512 x = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9;
  return static_cast<double>(_mm512_cvtss_f32(x));
}
#endif

std::atomic<double> sink{0};

/// GFLOP/s of fused multiply-adds in registers on all threads of the pool: the best of a few short runs.
double fma_peak() {
  double best = 0;
#if defined(__x86_64__)
  constexpr std::int64_t kLoops = 400000;   // long enough for every worker to join
  const bool wide = current_isa() == Isa::avx512;
  if (!wide && !supported(Isa::avx2)) return 0;
  for (int round = 0; round < 15; ++round) {
    const double start = seconds();
    parallel_static([&](int, int) { sink = wide ? fma_avx512(kLoops) : fma_avx2(kLoops); });
    const double flops = (wide ? 20 * 32.0 : 12 * 16.0) * kLoops * pool().threads();
    best = std::max(best, flops / (seconds() - start) / 1e9);
  }
#endif
  return best;
}

/// PyTorch in a process of its own that answers one line a request.
class Peer {
 public:
  explicit Peer(const std::string& python, int threads) {
    int to[2], from[2];
    if (python.empty() || pipe(to) != 0 || pipe(from) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      close(to[1]);
      close(from[0]);
      execlp(python.c_str(), python.c_str(), "-c", kScript, std::to_string(threads).c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    ready_ = ask("hello 0") > 0;
    if (!ready_) fmt::print("no PyTorch in '{}'; only our side is shown\n", python);
  }
  ~Peer() {
    if (to_ != nullptr) fclose(to_);
    if (from_ != nullptr) fclose(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  [[nodiscard]] bool ready() const { return ready_; }
  /// Seconds of one call of the request, the best of a short burst; 0 without an answer.
  double ask(const std::string& request) {
    if (to_ == nullptr) return 0;
    fmt::print(to_, "{}\n", request);
    fflush(to_);
    char line[64];
    return fgets(line, sizeof line, from_) == nullptr ? 0 : std::strtod(line, nullptr);
  }

 private:
  static constexpr const char* kScript = R"(
import sys, time
import torch
torch.set_num_threads(int(sys.argv[1]))
made = {}
def make(name, v):
    if name == 'hello': return lambda: None
    if name == 'matmul':
        m, k, n, ta, tb = v
        a = torch.randn(k, m).t() if ta else torch.randn(m, k)
        b = torch.randn(n, k).t() if tb else torch.randn(k, n)
        c = torch.empty(m, n)
        return lambda: torch.matmul(a, b, out=c)
    x = torch.randn(v[0], v[1])
    if name == 'sum_rows': return lambda: x.sum(1)
    if name == 'sum_columns': return lambda: x.sum(0)
    if name == 'amax_rows': return lambda: x.amax(1)
    if name == 'softmax': return lambda: torch.softmax(x, 1)
    if name == 'log_softmax': return lambda: torch.log_softmax(x, 1)
    t = torch.randint(0, v[1], (v[0],))
    return lambda: torch.nn.functional.cross_entropy(x, t, reduction='none')
for line in sys.stdin:
    name, *v = line.split()
    if line not in made: made[line] = make(name, [int(i) for i in v])
    f, best = made[line], 1e9
    with torch.no_grad():
        f()
        end, calls = time.perf_counter() + 0.02, 0
        while calls < 4 or time.perf_counter() < end:
            calls += 1
            start = time.perf_counter()
            f()
            best = min(best, time.perf_counter() - start)
    print(max(best, 1e-9), flush=True)
)";
  pid_t child_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  bool ready_ = false;
};

struct Bench {
  Peer& peer;
  int rounds;
  std::string only;            // lines that do not hold this text are left out
  double copy = 0;             // GB/s

  /// The best of a burst of 20 ms and at least four calls, in turns with the peer and, for flops, the FMA probe, because
  /// the machine's speed moves; medians over the rounds. `work`: flops or bytes of a call.
  template <class F>
  void line(const std::string& name, const std::string& request, double work, bool flops, F&& f) {
    if (name.find(only) == std::string::npos) return;
    std::vector<double> ours, theirs, parts;
    for (int round = 0; round < rounds; ++round) {
      const double limit = flops ? fma_peak() : copy;
      f();
      double best = 1e9;
      const double end = seconds() + 0.02;
      for (int calls = 0; calls < 4 || seconds() < end; ++calls) {
        const double start = seconds();
        f();
        best = std::min(best, seconds() - start);
      }
      ours.push_back(best);
      if (limit > 0) parts.push_back(work / best / 1e9 / limit);
      if (!peer.ready() || request.empty()) continue;
      theirs.push_back(peer.ask(request));
      std::this_thread::sleep_for(std::chrono::milliseconds(40));   // its idle workers still spin
    }
    const double t = median(ours), rate = work / t / 1e9;
    fmt::print("{:<30} {:>9.2f} us {:>7.1f} {} {:>6.1f} %", name, t * 1e6, rate, flops ? "GFLOP/s" : "GB/s   ",
               parts.empty() ? 0 : 100 * median(parts));
    if (!theirs.empty()) fmt::print("   PyTorch {:>9.2f} us, {:>5.2f} x", median(theirs) * 1e6, median(theirs) / t);
    fmt::print("\n");
    std::fflush(stdout);
  }
};

Tensor filled(const Shape& s) {
  Tensor t = Tensor::empty(s);
  std::uint32_t state = 1;
  for (float& x : t.values<float>()) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
  }
  return t;
}

void products(Bench& bench) {
  struct Case {
    std::int64_t m, k, n;
    bool turn_a, turn_b;
    std::string_view what;
  };
  constexpr Case kCases[] = {
      {1024, 1024, 1024, false, false, "square"}, {512, 512, 512, false, false, "square"},
      {32, 64, 32, false, true, "mlp_small forward"}, {64, 784, 128, false, true, "fashion_mlp forward"},
      {64, 128, 10, false, true, "fashion_mlp head"}, {128, 64, 784, true, false, "fashion_mlp weights"},
      {10, 64, 128, true, false, "head weights"}, {64, 10, 128, false, false, "head data"},
      {128, 784, 512, false, true, "mlp forward"}, {128, 512, 512, false, true, "mlp forward"},
      {512, 128, 784, true, false, "mlp weights"}, {512, 128, 512, true, false, "mlp weights"},
      {128, 512, 512, false, false, "mlp data"}, {2048, 192, 768, false, true, "vit forward"},
      {768, 128, 512, true, false, "gpt weights"}, {1, 1024, 1024, false, true, "one row"}};
  for (const Case& c : kCases) {
    const Tensor a = c.turn_a ? transpose(filled({c.k, c.m})) : filled({c.m, c.k});
    const Tensor b = c.turn_b ? transpose(filled({c.n, c.k})) : filled({c.k, c.n});
    const auto flag = [](bool turned) { return turned ? 'T' : 'N'; };
    bench.line(fmt::format("{}x{}x{} {}{} {}", c.m, c.n, c.k, flag(c.turn_a), flag(c.turn_b), c.what),
               fmt::format("matmul {} {} {} {:d} {:d}", c.m, c.k, c.n, c.turn_a, c.turn_b),
               2.0 * static_cast<double>(c.m * c.k * c.n), true, [&] { static_cast<void>(matmul(a, b)); });
  }
}

void rows(Bench& bench) {
  for (const auto& [n, c] : {std::pair{64, 128}, std::pair{64, 10}, std::pair{1024, 1000}, std::pair{4096, 4096}}) {
    const Tensor x = filled({n, c});
    const double bytes = 4.0 * n * c;
    const auto name = [&](std::string_view op) { return fmt::format("{} {}x{}", op, n, c); };
    const auto ask = [&](std::string_view op) { return fmt::format("{} {} {}", op, n, c); };
    bench.line(name("sum rows"), ask("sum_rows"), bytes, false, [&] { static_cast<void>(sum(x, {1})); });
    bench.line(name("sum columns"), ask("sum_columns"), bytes, false, [&] { static_cast<void>(sum(x, {0})); });
    bench.line(name("amax rows"), ask("amax_rows"), bytes, false, [&] { static_cast<void>(amax(x, {1})); });
    bench.line(name("softmax"), ask("softmax"), 2 * bytes, false, [&] { static_cast<void>(softmax(x)); });
    bench.line(name("log_softmax"), ask("log_softmax"), 2 * bytes, false, [&] { static_cast<void>(log_softmax(x)); });
    std::vector<std::int64_t> classes;
    for (std::int64_t i = 0; i < n; ++i) classes.push_back(i % c);
    const Tensor target = Tensor::of<std::int64_t>(classes, {n});
    bench.line(name("cross_entropy"), ask("cross_entropy"), bytes, false,
               [&] { static_cast<void>(cross_entropy(x, target, {}, 0, -100)); });
    bench.line(name("nh128"), "", bytes, false, [&] { static_cast<void>(nh128(x, 0)); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string python, only;
  int threads = 1, rounds = 7;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--threads") threads = std::atoi(argv[i + 1]);
    if (key == "--rounds") rounds = std::atoi(argv[i + 1]);
    if (key == "--python") python = argv[i + 1];
    if (key == "--only") only = argv[i + 1];
  }
  set_threads(std::max(1, threads));
  install_builtin_ops();
  const NoGrad off;
  Peer peer(python, pool().threads());
  Bench bench{peer, std::max(1, rounds), only};
  const Tensor from = filled({1 << 24}), to = Tensor::empty({1 << 24});
  for (int i = 0; i < 5; ++i) {
    const double start = seconds();
    copy_(to, from);
    bench.copy = std::max(bench.copy, 2 * 4.0 * (1 << 24) / (seconds() - start) / 1e9);
  }
  fmt::print("{} threads, {}: FMA peak {:.1f} GFLOP/s, copy of 64 MB {:.1f} GB/s (read + write)\n", pool().threads(),
             text(current_isa()), fma_peak(), bench.copy);
  products(bench);
  rows(bench);
  return 0;
}
