// Every kernel on every instruction set and number of threads against the scalar target with one thread, byte for byte.
#include <doctest/doctest.h>

#include <fmt/core.h>

#include "lockstep/base/cpu.h"
#include "lockstep/base/pool.h"
#include "lockstep/kernels/cpu.h"
#include "lockstep/ops/builtin.h"
#include "op_cases.h"
#include "print.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// Results and mutated inputs of every sample in both float types and both layouts.
std::vector<std::string> all_bits(std::vector<std::string>& names) {
  std::vector<std::string> out;
  const NoGrad off;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    for (const DType t : {DType::f32, DType::f64})
      for (const Layout layout : {Layout::plain, Layout::strided}) {
        const Tensors in = inputs_of(s, t, layout);
        Tensors result = apply(op, in, s.attrs);
        if (op.mutates != 0) result.insert(result.end(), in.begin(), in.end());
        out.push_back(bytes_of(result));
        names.push_back(case_text(op, number, in));
      }
  });
  return out;
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> out;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (supported(isa))
      out.push_back(isa);
    else
      MESSAGE("this CPU lacks " << std::string(text(isa)) << "; its kernels are not compared here");
  }
  return out;
}

}  // namespace

TEST_CASE("every kernel gives the bits of the scalar target, on every instruction set and thread count") {
  install_builtin_ops();
  const Isa chosen = current_isa();
  std::vector<std::string> names, bad;
  use_isa(Isa::scalar);
  set_threads(1);
  const std::vector<std::string> expected = all_bits(names);
  CHECK(expected.size() > 500);
  for (const Isa isa : supported_isas())
    for (const int threads : {1, 2, 3, 7}) {
      use_isa(isa);
      set_threads(threads);
      std::vector<std::string> same;
      const std::vector<std::string> got = all_bits(same);
      for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != expected[i]) bad.push_back(fmt::format("{} on {} with {} threads", names[i], text(isa), threads));
    }
  use_isa(chosen);
  set_threads(0);
  CHECK(bad == std::vector<std::string>{});
}
