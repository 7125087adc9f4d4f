// Wrong calls from C++: each ends in the error that says so, never in a crash.
#include <doctest/doctest.h>

#include <string>

#include "lockstep/autograd/autograd.h"
#include "lockstep/base/error.h"
#include "lockstep/io/tensor_bytes.h"
#include "lockstep/nn/init.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/ops/ops.h"
#include "lockstep/state/chain.h"

using namespace lockstep;

namespace {

/// Runs `f`, which must throw, and gives the message.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "no error";
}
bool has(const std::string& text, std::string_view part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("gradients names what is wrong with its arguments") {
  install_builtin_ops();
  const Tensor x = Tensor::of<double>({1.0, 2.0}, {2}).requires_grad_();
  const Tensor y = total(mul(x, x));
  const Tensor whole = Tensor::of<std::int64_t>({1, 2}, {2});
  const Tensor undefined;
  has(message_of([&] { static_cast<void>(gradients(y, std::span(&undefined, 1))); }), "input 0 is undefined");
  has(message_of([&] { static_cast<void>(gradients(y, std::span(&whole, 1))); }), "only floating tensors have gradients");
  has(message_of([&] { static_cast<void>(gradients(undefined, std::span(&x, 1))); }), "the total is undefined");
  has(message_of([&] { static_cast<void>(gradients_of(std::span(&y, 1), {}, std::span(&x, 1))); }), "1 roots and 0 seeds");
  has(message_of([&] { static_cast<void>(add_hook(Tensor::scalar(1), [](const Tensor& g) { return g; })); }), "has no history");
}

TEST_CASE("tensors refuse what they cannot hold or show") {
  install_builtin_ops();
  const std::vector<std::int64_t> nine(9, 1);
  has(message_of([&] { static_cast<void>(Tensor::empty(Shape(std::span<const std::int64_t>(nine)))); }), "at most 8 axes");
  has(message_of([&] { static_cast<void>(Tensor::empty({1}, DType::f16).item()); }), "cannot be read on the host");
  Tensor t = Tensor::zeros({2});
  has(message_of([&] { assign_bytes(t, std::span<const std::byte>{}); }), "0 bytes assigned to a tensor");
}

TEST_CASE("ops refuse axes named twice, storage types and one axis too many") {
  install_builtin_ops();
  has(message_of([&] { static_cast<void>(sum(Tensor::zeros({2, 3}), Shape{0, 0})); }), "twice");
  const Tensor half = Tensor::empty({2}, DType::bf16);
  has(message_of([&] { static_cast<void>(eq(half, half)); }), "reserved for storage");
  has(message_of([&] { static_cast<void>(one_hot(Tensor::zeros({1, 1, 1, 1, 1, 1, 1, 1}, DType::i64), 3)); }), "one more would exceed 8");
}

TEST_CASE("parameters are floating, chains exist") {
  Tensor whole = Tensor::zeros({2}, DType::i64);
  has(message_of([&] { initialize(whole, Init::normal(1), 0, "w"); }), "parameters are float32 or float64");
  has(message_of([&] { static_cast<void>(read_chain(real_files(), "/nonexistent/chain.bin", 0)); }), "no chain file");
}
