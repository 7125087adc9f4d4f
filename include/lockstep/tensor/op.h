// What an op is: constant data read by apply(), autograd, the exporter and the contract tests.
#pragma once

#include <cassert>
#include <variant>

#include "lockstep/tensor/scope.h"
#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// Attributes are positional plain data; an op's enum names the positions. Shape also carries lists of axes.
using AttrValue = std::variant<std::monostate, bool, std::int64_t, double, DType, RngKey, Shape>;
struct AttrDef {
  std::string_view name, doc;
  AttrValue def;                   // also fixes the type
};
class Attrs {
 public:
  static constexpr std::size_t kMax = 8;
  Attrs() = default;
  Attrs(std::initializer_list<AttrValue> v) {
    assert(v.size() <= kMax);
    for (const auto& x : v) v_[n_++] = x;
  }
  void push_back(const AttrValue& v) { v_[n_++] = v; }
  template <class T>
  [[nodiscard]] const T& get(std::size_t i) const { return std::get<T>(v_[i]); }
  [[nodiscard]] const AttrValue& operator[](std::size_t i) const { return v_[i]; }
  [[nodiscard]] AttrValue& operator[](std::size_t i) { return v_[i]; }
  [[nodiscard]] std::size_t size() const { return n_; }

 private:
  std::array<AttrValue, kMax> v_{};
  std::size_t n_ = 0;
};

/// What infer and flops see. Undefined optional inputs have `present[i] == false` and an empty meta.
/// `strides` and `offsets` are the inputs' layouts (only view ops may depend on them).
struct OpIn {
  const OpDef& op;
  std::span<const Meta> in;
  const Attrs& attrs;
  std::span<const Tensor> tensors;          // for view ops: layouts; never data
  [[nodiscard]] bool has(std::size_t i) const { return i < tensors.size() && tensors[i].defined(); }
};

/// What a derivative rule sees. `grad[i]` is undefined when output i got no gradient; return one gradient per input,
/// undefined where `!wants(i)` or the derivative is zero. Gradients may have the broadcast shape of the output:
/// the walk sums them down to the input's shape. Written with ops, so that every order exists.
struct Vjp {
  const OpDef& op;
  std::span<const Tensor> in, out, grad;    // in/out hold what `saves` names; others are meta tensors (shape and dtype)
  const Attrs& attrs;
  std::uint32_t wanted = 0;
  [[nodiscard]] bool wants(std::size_t i) const { return ((wanted >> i) & 1U) != 0; }
};

/// One case for the contract tests. Inputs are filled from a keyed stream in [low, high); integer inputs in [0, high_int).
struct SampleInput {
  Shape shape;
  DType dtype = DType::f32;
  double low = -2, high = 2;                // values of floating inputs
  std::int64_t high_int = 4;                // values of integer inputs: [0, high_int)
  bool present = true;
  std::vector<double> values{};             // these, row-major, instead of drawn ones
};
/// An op that has no kernel needs a sample with `expected`, or a case among the goldens: compared with its own reference it
/// would always be right.
struct OpSample {
  std::vector<SampleInput> in;
  Attrs attrs{};
  bool check_gradient = true;               // off where the function is not differentiable at ties
  std::vector<double> expected{};           // the first output's values, from elsewhere; empty: only the reference speaks
};
/// An input that must be refused: `expect` is a part of the message.
struct BadSample {
  std::vector<SampleInput> in;
  Attrs attrs{};
  std::string_view expect;
};

enum class Gradient : std::uint8_t { exact, custom, none };   // custom: not the derivative of the function; none: non-differentiable
enum class Save : std::uint8_t { none = 0, inputs = 1, outputs = 2, both = 3 };
enum class Autocast : std::uint8_t { follow, low, full };     // run in the inputs' dtype, in the low dtype, in f32

/// An op. Kernels are looked up by `name`; without a kernel `reference` runs. A kernel op without `vjp` is
/// differentiated through `reference` (recomputed on the saved inputs).
struct OpDef {
  std::string_view name, doc;
  std::span<const std::string_view> inputs;                   // "x", "bias?": a trailing ? marks an optional input
  std::span<const AttrDef> attrs{};
  std::vector<Meta> (*infer)(const OpIn&) = nullptr;          // shapes, dtypes, all validation; throws usage
  Tensors (*reference)(std::span<const Tensor>, const Attrs&) = nullptr;
  Tensors (*vjp)(const Vjp&) = nullptr;
  Gradient gradient = Gradient::exact;
  std::uint32_t mutates = 0;                                  // bit i: writes input i (refused on tensors with history)
  bool elementwise = false;                                   // inputs are broadcast to the output's shape before the kernel
  bool view = false;                                          // every output looks into an input's storage: no kernel
  bool dense = false;                                         // strided inputs are copied before the kernel
  Save saves = Save::none;
  Autocast autocast = Autocast::follow;
  std::int64_t (*flops)(const OpIn&) = nullptr;               // multiply-add counts as two
  std::string_view onnx{};
  std::vector<OpSample> (*samples)() = nullptr;               // under LOCKSTEP_SAMPLES only
  std::vector<BadSample> (*bad_samples)() = nullptr;
};

/// The only way a tensor is computed: autocast, infer, views or allocation, kernel choice, run, record.
/// Throws usage with op, shapes and rule; resource when memory runs out.
Tensors apply(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs);
/// One output.
Tensor apply1(const OpDef& op, std::initializer_list<Tensor> in, const Attrs& attrs = {});

/// The table CMake generates from src/ops, one span per file.
std::span<const std::span<const OpDef>> builtin_op_families();
/// Finds an op by name; null when there is none.
const OpDef* find_op(std::string_view name);

}  // namespace lockstep
