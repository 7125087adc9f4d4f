// Every op against its own contract: texts, shapes, layouts, reference, gradients. A new op is tested by its samples.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "op_cases.h"
#include "paths.h"
#include "print.h"

using namespace lockstep;
using namespace lockstep::test;

namespace {

using Failures = std::vector<std::string>;

bool kernel_for(const OpDef& op) {
  for (const auto family : builtin_kernel_families())
    for (const KernelDef& k : family)
      if (k.op == op.name) return true;
  return false;
}

bool has_f32(const OpSample& s) {
  return std::ranges::any_of(s.in, [](const SampleInput& i) { return i.present && i.dtype == DType::f32; });
}

/// float32 as the sample says; float64 as well where the sample has float32 inputs.
std::vector<DType> float_types(const OpSample& s) {
  return has_f32(s) ? std::vector<DType>{DType::f32, DType::f64} : std::vector<DType>{DType::f32};
}

struct Call {
  const OpDef* op;
  const Attrs* attrs;
};
Tensors call(std::span<const Tensor> in, const void* context) {
  const auto& c = *static_cast<const Call*>(context);
  return apply(*c.op, in, *c.attrs);
}

}  // namespace

TEST_CASE("every op is documented, typed and sampled") {
  install_builtin_ops();
  Failures bad;
  std::size_t ops = 0;
  for (const auto family : builtin_op_families())
    for (const OpDef& op : family) {
      ++ops;
      const auto need = [&](bool ok, std::string_view what) {
        if (!ok) bad.push_back(fmt::format("{}: {}", op.name, what));
      };
      need(find_op(op.name) == &op, "find_op does not find it");
      need(op.doc.size() > 8 && op.doc.ends_with('.'), "its doc is a sentence that ends with a full stop");
      need(op.samples != nullptr && !op.samples().empty(), "it has samples");
      need(op.gradient != Gradient::exact || op.vjp != nullptr || op.reference != nullptr,
           "an exact gradient needs a vjp or a reference");
      need(op.gradient != Gradient::none || op.vjp == nullptr, "an op without gradient has no vjp");
      for (const AttrDef& a : op.attrs) {
        need(!a.name.empty() && a.doc.ends_with('.'), "each attribute has a name and a sentence");
        need(a.def.index() != 0, "each attribute has a typed default");
      }
      for (std::size_t i = 1; i < op.inputs.size(); ++i)
        need(!op.inputs[i - 1].ends_with('?') || op.inputs[i].ends_with('?') || op.name == "cross_entropy_backward",
             "optional inputs come last");
    }
  CHECK(ops > 50);
  CHECK(bad == Failures{});
}

TEST_CASE("the dry run on metas gives the shapes and dtypes of the real run") {
  install_builtin_ops();
  Failures bad;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    const Tensors in = inputs_of(s);
    if (in.empty()) return;
    const NoGrad off;
    const Tensors real = apply(op, in, s.attrs), meta = apply(op, metas_of(in), s.attrs);
    const std::vector<Meta> inferred = op.infer({op,
                                                 [&] {
                                                   static std::vector<Meta> m;
                                                   m.clear();
                                                   for (const Tensor& t : in)
                                                     m.push_back(t.defined() ? t.meta() : Meta{});
                                                   return std::span<const Meta>(m);
                                                 }(),
                                                 s.attrs, in});
    bool ok = real.size() == meta.size() && real.size() == inferred.size();
    for (std::size_t i = 0; ok && i < real.size(); ++i)
      ok = real[i].meta() == meta[i].meta() && real[i].meta() == inferred[i] && meta[i].device() == Device::meta;
    if (!ok) bad.push_back(case_text(op, number, in));
  });
  CHECK(bad == Failures{});
}

TEST_CASE("bad inputs are refused with the op, the values and the rule") {
  install_builtin_ops();
  Failures bad;
  std::size_t cases = 0;
  for (const auto family : builtin_op_families())
    for (const OpDef& op : family) {
      if (op.bad_samples == nullptr) continue;
      for (const BadSample& s : op.bad_samples()) {
        ++cases;
        const Tensors in = inputs_of(s);
        std::string message = "nothing was thrown";
        try {
          apply(op, in, s.attrs);
        } catch (const Error& e) {
          message = e.message;
          if (e.category != Category::usage) message = "wrong category: " + message;
        }
        if (!message.starts_with(op.name) || message.find(s.expect) == std::string::npos)
          bad.push_back(fmt::format("{}: '{}' does not contain '{}'", op.name, message, s.expect));
      }
    }
  CHECK(cases > 50);
  CHECK(bad == Failures{});
}

TEST_CASE("strided inputs give the bits of contiguous ones, and inputs stay untouched") {
  install_builtin_ops();
  Failures bad;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    for (const DType t : float_types(s)) {
      const NoGrad off;
      const Tensors plain = inputs_of(s, t), strided = inputs_of(s, t, Layout::strided);
      const std::string before = bytes_of(plain);
      const std::string a = bytes_of(apply(op, plain, s.attrs)), b = bytes_of(apply(op, strided, s.attrs));
      if (a != b || bytes_of(plain) != bytes_of(strided)) bad.push_back("strided: " + case_text(op, number, plain));
      if (op.mutates == 0 && bytes_of(plain) != before)
        bad.push_back("inputs written: " + case_text(op, number, plain));
    }
  });
  CHECK(bad == Failures{});
}

TEST_CASE("values come from elsewhere: a sample's expected values, or PyTorch's") {
  install_builtin_ops();
  std::set<std::string, std::less<>> known;
  for (const char* family : {"elementwise", "products", "training"}) {
    std::ifstream in(fmt::format("{}/tests/goldens/ops_{}.txt", kSourceDir, family));
    REQUIRE(in);
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("op ")) known.insert(line.substr(3, line.find(' ', 3) - 3));
  }
  Failures bad;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    if (s.expected.empty()) return;
    known.emplace(op.name);
    for (const DType t : float_types(s)) {
      const NoGrad off;
      const Tensors in = inputs_of(s, t);
      const Tensor got = apply(op, in, s.attrs)[0];
      Tensor expected = Tensor::empty(got.shape(), DType::f64);
      REQUIRE(static_cast<std::size_t>(got.numel()) == s.expected.size());
      std::ranges::copy(s.expected, expected.values<double>().begin());
      if (const std::string d = difference(cast(got, DType::f64), expected, t == DType::f64 ? 1e-13 : 2e-6); !d.empty())
        bad.push_back(case_text(op, number, in) + ": " + d);
    }
  });
  for (const auto family : builtin_op_families())
    for (const OpDef& op : family)
      if (!kernel_for(op) && op.reference != nullptr && !known.contains(op.name))
        bad.push_back(fmt::format("{}: it has no kernel, so only its reference says what it computes: give a sample `values` and `expected`", op.name));
  CHECK(bad == Failures{});
}

TEST_CASE("kernels agree with their reference compositions") {
  install_builtin_ops();
  Failures bad;
  std::size_t cases = 0;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    if (op.reference == nullptr || op.view || !kernel_for(op)) return;
    for (const DType t : float_types(s)) {
      const NoGrad off;
      const Tensors in = inputs_of(s, t);
      const Tensors got = apply(op, in, s.attrs), expected = op.reference(in, s.attrs);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ++cases;
        if (const std::string d = difference(got[i], expected[i], t == DType::f64 ? 1e-13 : 2e-6); !d.empty())
          bad.push_back(case_text(op, number, in) + ": " + d);
      }
    }
  });
  CHECK(cases > 50);
  CHECK(bad == Failures{});
}

TEST_CASE("gradients and second gradients agree with central differences in float64") {
  install_builtin_ops();
  Failures bad;
  std::size_t cases = 0;
  for_each_sample([&](const OpDef& op, std::size_t number, const OpSample& s) {
    if (op.gradient != Gradient::exact || !s.check_gradient) return;
    for (const Layout layout : {Layout::plain, Layout::strided}) {
      const Tensors in = inputs_of(s, DType::f64, layout);
      if (std::ranges::none_of(in, [](const Tensor& t) { return t.defined() && t.dtype() == DType::f64; })) return;
      const Call c{&op, &s.attrs};
      ++cases;
      if (const std::string d = gradcheck(call, &c, in); !d.empty())
        bad.push_back(case_text(op, number, in) + ": first: " + d);
      if (const std::string d = gradgradcheck(call, &c, in); !d.empty())
        bad.push_back(case_text(op, number, in) + ": second: " + d);
    }
  });
  CHECK(cases > 100);
  CHECK(bad == Failures{});
}
