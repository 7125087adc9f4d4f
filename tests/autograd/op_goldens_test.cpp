// Values and gradients of ops against PyTorch's (tests/goldens/make_op_goldens.py wrote the files and describes them).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "lockstep/autograd/autograd.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "paths.h"
#include "print.h"

using namespace lockstep;

namespace {

struct Golden {
  std::string op;
  double tolerance = 0;
  std::vector<std::string> attrs;
  Tensors in, out, after, seed, grad;
  int line = 0;
};

DType dtype_of(const std::string& word) {
  for (const DType t : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean})
    if (text(t) == word) return t;
  throw std::runtime_error("dtype " + word);
}
Shape shape_of(const std::string& word) {
  Shape s;
  std::istringstream in(word);
  for (std::string d; word != "-" && std::getline(in, d, ',');) s.push_back(std::stoll(d));
  return s;
}

Tensor tensor_of(std::istringstream& in) {
  std::string type, shape, v;
  in >> type;
  if (type == "-") return {};
  in >> shape;
  const DType t = dtype_of(type);
  Tensor out = Tensor::zeros(shape_of(shape), t);
  for (std::size_t i = 0; in >> v; ++i) {
    const double d = std::strtod(v.c_str(), nullptr);
    if (t == DType::f32)
      out.values<float>()[i] = std::strtof(v.c_str(), nullptr);
    else if (t == DType::f64)
      out.values<double>()[i] = d;
    else if (t == DType::i64)
      out.values<std::int64_t>()[i] = static_cast<std::int64_t>(d);
    else if (t == DType::i32)
      out.values<std::int32_t>()[i] = static_cast<std::int32_t>(d);
    else
      static_cast<std::uint8_t*>(out.raw())[i] = static_cast<std::uint8_t>(d);
  }
  return out;
}

std::vector<Golden> read(std::string_view name) {
  std::ifstream file(std::string(test::kSourceDir) + "/tests/goldens/" + std::string(name));
  REQUIRE(file);
  std::vector<Golden> out;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    if (kind == "#") continue;
    if (kind == "op") {
      Golden& g = out.emplace_back();
      g.line = number;
      in >> g.op >> g.tolerance;
    } else if (kind == "attr") {
      in >> out.back().attrs.emplace_back();
    } else {
      Golden& g = out.back();
      (kind == "in"      ? g.in
       : kind == "out"   ? g.out
       : kind == "after" ? g.after
       : kind == "seed"  ? g.seed
                         : g.grad)
          .push_back(tensor_of(in));
    }
  }
  return out;
}

Attrs attrs_of(const OpDef& op, const std::vector<std::string>& words) {
  Attrs out;
  REQUIRE(words.size() == op.attrs.size());
  std::vector<AttrValue> v;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const AttrValue& def = op.attrs[i].def;
    const std::string& w = words[i];
    if (std::holds_alternative<bool>(def))
      v.emplace_back(w == "true");
    else if (std::holds_alternative<std::int64_t>(def))
      v.emplace_back(std::int64_t{std::stoll(w)});
    else if (std::holds_alternative<double>(def))
      v.emplace_back(std::strtod(w.c_str(), nullptr));
    else if (std::holds_alternative<DType>(def))
      v.emplace_back(dtype_of(w));
    else
      v.emplace_back(shape_of(w));
  }
  for (AttrValue& a : v) out.push_back(a);
  return out;
}

void compare(std::vector<std::string>& bad, const Golden& g, std::string_view what, std::size_t index,
             const Tensor& got, const Tensor& want) {
  const auto report = [&](std::string why) {
    bad.push_back(fmt::format("line {}: {} {} {}: {}", g.line, g.op, what, index, why));
  };
  if (!want.defined()) return;
  if (!got.defined() || got.shape() != want.shape() || got.dtype() != want.dtype())
    return report(fmt::format("expected {} {}", text(want.shape()), text(want.dtype())));
  const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= g.tolerance * (1 + std::abs(b[i]))))
      return report(fmt::format("element {}: got {}, PyTorch has {}", i, a[i], b[i]));
}

void check(std::vector<std::string>& bad, const Golden& g) {
  const OpDef* op = find_op(g.op);
  REQUIRE_MESSAGE(op != nullptr, g.op);
  const Attrs attrs = attrs_of(*op, g.attrs);
  Tensors in = g.in, leaves;
  for (Tensor& t : in)
    if (t.defined() && is_floating(t.dtype()) && op->mutates == 0) leaves.push_back(t.requires_grad_());
  const Tensors out = apply(*op, in, attrs);
  for (std::size_t i = 0; i < g.out.size(); ++i) compare(bad, g, "output", i, out[i], g.out[i]);
  for (std::size_t i = 0; i < g.after.size(); ++i) compare(bad, g, "input after", i, in[i], g.after[i]);
  if (g.seed.empty()) return;
  const Tensors grads = gradients_of(out, g.seed, leaves, {.allow_unused = true});
  std::size_t next = 0;
  for (std::size_t i = 0; i < g.grad.size(); ++i) {
    if (!in[i].defined() || !is_floating(in[i].dtype())) continue;
    // PyTorch's class weights are constants; ours have a gradient, which the contract tests check.
    if (!(g.op == "cross_entropy" && i == 2)) compare(bad, g, "gradient", i, grads[next], g.grad[i]);
    ++next;
  }
}

void check_file(std::string_view name, std::size_t at_least) {
  install_builtin_ops();
  std::vector<std::string> bad;
  const std::vector<Golden> all = read(name);
  CHECK(all.size() >= at_least);
  for (const Golden& g : all) check(bad, g);
  CHECK(bad == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("elementwise ops and comparisons agree with PyTorch") { check_file("ops_elementwise.txt", 190); }
TEST_CASE("reductions, softmax and products agree with PyTorch") { check_file("ops_products.txt", 100); }
TEST_CASE("losses, batch norm, indexing, views and optimizer steps agree with PyTorch") {
  check_file("ops_training.txt", 60);
}
