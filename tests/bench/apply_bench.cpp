// What one apply() costs besides its kernel: nanoseconds per call of small ops, with and without history.
#include <chrono>

#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "lockstep/tensor/storage.h"

using namespace lockstep;

namespace {

template <class F>
double nanoseconds(F&& f) {
  constexpr int kCalls = 20000;
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) f();
    const std::chrono::duration<double, std::nano> d = std::chrono::steady_clock::now() - start;
    best = std::min(best, d.count() / kCalls);
  }
  return best;
}

}  // namespace

int main() {
  install_builtin_ops();
  const Tensor a = Tensor::full({16}, 1.5), b = Tensor::full({16}, 2.5), row = Tensor::full({1}, 2.5);
  Tensor leaf = Tensor::full({16}, 0.5);
  leaf.requires_grad_();
  const Tensor wide = Tensor::full({4, 4}, 1.0);
  fmt::print("{:<34} {:>8}\n", "16 elements, best of 15 x 20000", "ns");
  const auto line = [](std::string_view name, double ns) { fmt::print("{:<34} {:>8.1f}\n", name, ns); };
  line("add, no history", nanoseconds([&] { static_cast<void>(add(a, b)); }));
  line("add, broadcast", nanoseconds([&] { static_cast<void>(add(a, row)); }));
  line("mul_scalar, no history", nanoseconds([&] { static_cast<void>(mul_scalar(a, 2)); }));
  line("mul, history (saves inputs)", nanoseconds([&] { static_cast<void>(mul(leaf, b)); }));
  line("transpose (view)", nanoseconds([&] { static_cast<void>(transpose(wide)); }));
  line("Tensor::empty", nanoseconds([&] { static_cast<void>(Tensor::empty({16})); }));
  line("sum(mul(leaf, b)), gradients", nanoseconds([&] {
         static_cast<void>(gradients(sum(mul(leaf, b)), {&leaf, 1}));
       }));
  const MemoryStats m = memory_stats();
  fmt::print("allocations {}, from the cache {}\n", m.allocations, m.cache_hits);
  return 0;
}
