// Times bare training steps: forward, backward, gradient norm, SGD with momentum, fingerprint; no loader, no trainer.
// Usage: bench_step [seconds per workload, default 2]. Prints the median time and the share of each part.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "lockstep/autograd/autograd.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"

using namespace lockstep;

namespace {

using Clock = std::chrono::steady_clock;
double us(Clock::time_point a, Clock::time_point b) { return std::chrono::duration<double, std::micro>(b - a).count(); }

double median(std::vector<double>& v) {
  std::ranges::sort(v);
  return v.empty() ? 0 : v[v.size() / 2];
}

Tensor wave(const Shape& s, double scale) {
  Tensor t = Tensor::empty(s);
  std::uint32_t x = 12345;
  for (float& v : t.values<float>()) {
    x = x * 1664525U + 1013904223U;
    v = static_cast<float>((static_cast<double>(x >> 8) * 0x1p-24 - 0.5) * 2 * scale);
  }
  return t;
}

struct Workload {
  const char* name;
  std::int64_t batch, in, hidden, classes;
};

void run(const Workload& w, double seconds) {
  Tensors p = {wave({w.hidden, w.in}, 0.1), wave({w.hidden}, 0.1), wave({w.classes, w.hidden}, 0.1), wave({w.classes}, 0.1)};
  Tensors buffers;
  for (Tensor& t : p) {
    buffers.push_back(Tensor::zeros(t.shape()));
    t.requires_grad_();
  }
  const Tensor x = wave({w.batch, w.in}, 1);
  Tensor y = Tensor::zeros({w.batch}, DType::i64);
  for (std::int64_t i = 0; i < w.batch; ++i) y.values<std::int64_t>()[static_cast<std::size_t>(i)] = i % w.classes;

  std::vector<double> forward, backward, norm, update, print, all;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  bool first = true;
  double sink = 0;
  while (Clock::now() < end) {
    const auto t0 = Clock::now();
    const Tensor h = relu(linear(x, p[0], p[1]));
    const Tensor loss = mul_scalar(total(cross_entropy(linear(h, p[2], p[3]), y, {}, 0, -100)), 1.0 / static_cast<double>(w.batch));
    const auto t1 = Clock::now();
    const Tensors g = gradients(loss, p);
    const auto t2 = Clock::now();
    const NoGrad off;
    for (const Tensor& t : g) sink += sum_squares(t).item();
    const auto t3 = Clock::now();
    for (std::size_t i = 0; i < p.size(); ++i) sgd_step(p[i], g[i], buffers[i], 0.01, 0.9, 0, 0, false, first);
    first = false;
    const auto t4 = Clock::now();
    std::int64_t word = 0;
    for (const Tensor& t : p) {
      sink += static_cast<double>(nh128(t, word).values<std::int64_t>()[0] & 1);
      word += (t.numel() + 1) / 2 * 2;
    }
    const auto t5 = Clock::now();
    forward.push_back(us(t0, t1));
    backward.push_back(us(t1, t2));
    norm.push_back(us(t2, t3));
    update.push_back(us(t3, t4));
    print.push_back(us(t4, t5));
    all.push_back(us(t0, t5));
  }
  const std::size_t steps = all.size();
  std::printf("%-12s %9.1f us a step: forward %7.1f  backward %7.1f  norm %6.1f  sgd %6.1f  fingerprint %6.1f   (%zu steps, %g)\n", w.name,
              median(all), median(forward), median(backward), median(norm), median(update), median(print), steps, sink > 0 ? 1.0 : 0.0);
}

}  // namespace

int main(int argc, char** argv) {
  install_builtin_ops();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  for (const Workload& w : {Workload{"mlp_small", 32, 64, 32, 10}, Workload{"fashion_mlp", 64, 784, 128, 10}}) run(w, seconds);
  return 0;
}
