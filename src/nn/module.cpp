// Module: frames around a forward, named tensors, hooks.
#include "lockstep/nn/module.h"

#include <deque>

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/base/philox.h"

namespace lockstep {
namespace {

/// How often a module drew in the forward `generation` of this thread.
struct DrawCell {
  std::uint64_t generation = 0;
  std::uint32_t draws = 0;
};
/// One cell a module, found by its number. A deque, because outer frames keep pointers while it grows.
struct DrawCells {
  std::uint64_t generation = 0;
  std::deque<DrawCell> cells;
};
thread_local DrawCells draw_cells;

std::atomic<std::size_t> modules_made{0};

std::uint32_t* draw_cell(std::size_t number, bool outermost) {
  DrawCells& d = draw_cells;
  if (outermost) ++d.generation;
  if (number >= d.cells.size()) d.cells.resize(number + 1);
  DrawCell& cell = d.cells[number];
  if (cell.generation != d.generation) cell = {d.generation, 0};
  return &cell.draws;
}

/// Puts the module's frame into the scope until the end of the block.
class InModule {
 public:
  explicit InModule(const ModuleFrame& f) : saved_(scope.module) { scope.module = &f; }
  ~InModule() { scope.module = saved_; }
  InModule(const InModule&) = delete;
  InModule& operator=(const InModule&) = delete;

 private:
  const ModuleFrame* saved_;
};

std::string render_module(const void* m) { return frame_text(*static_cast<const Module*>(m)); }

}  // namespace

std::string frame_text(const Module& m) {
  const std::string where = m.origin_.empty() ? "" : fmt::format(" ({})", m.origin_);
  return m.path_.empty() ? fmt::format("in the model{}", where) : fmt::format("in module '{}'{}", m.path_, where);
}

Module::Module(const BuildContext& b)
    : path_(b.path), origin_(b.origin), seed_(b.seed), number_(modules_made.fetch_add(1)), dtype_(b.dtype), device_(b.device) {
  const PhiloxKey key = rng_key(b.seed, "dropout", b.path);
  rng_key_ = std::uint64_t{key.hi} << 32 | key.lo;
}

Module::~Module() = default;

Tensors Module::operator()(std::span<const Tensor> in) const {
  const ModuleFrame frame{scope.module, path_, origin_, rng_key_, draw_cell(number_, scope.module == nullptr)};
  const InModule inside(frame);
  const Frame error_frame(render_module, this);
  for (const auto& [id, hook] : hooks_) hook(*this, in, nullptr);
  Tensors out = forward(in);
  for (const auto& [id, hook] : hooks_) hook(*this, in, &out);
  return out;
}

Tensor Module::operator()(const Tensor& x) const {
  Tensors out = (*this)(std::span<const Tensor>(&x, 1));
  if (out.size() != 1)
    failf(Category::internal, "module '{}' gave {} outputs to a caller that takes 1; call it with a list of inputs", path_, out.size());
  return std::move(out[0]);
}

Tensor& Module::add_tensor(std::string_view name, Tensor t, StateKind kind) {
  std::string full = path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  for (const NamedTensor& n : own_)
    if (n.name == full) failf(Category::internal, "module '{}' registers two tensors called '{}'; names are unique", path_, full);
  own_.push_back({std::move(full), std::move(t), kind});
  return own_.back().tensor;
}

Tensor Module::parameter(std::string_view name, const Shape& s, Init init) {
  Tensor& t = add_tensor(name, Tensor::empty(s, dtype_, device_), StateKind::parameter);
  if (device_ != Device::meta) initialize(t, init, seed_, own_.back().name);
  return t.requires_grad_();
}

Tensor Module::buffer(std::string_view name, const Shape& s, double value, DType t) {
  return add_tensor(name, device_ == Device::meta ? Tensor::empty(s, t, device_) : Tensor::full(s, value, t, device_), StateKind::buffer);
}

void Module::adopt(const Module& child) { children_.push_back(&child); }

std::vector<NamedTensor> Module::state_tensors() const {
  std::vector<NamedTensor> out = own_;
  for (const Module* c : children_) {
    std::vector<NamedTensor> below = c->state_tensors();
    out.insert(out.end(), std::make_move_iterator(below.begin()), std::make_move_iterator(below.end()));
  }
  return out;
}

void Module::state(StateVisitor& v) {
  // Handles share their tensor with the members of the modules, so loading through these copies reaches the model.
  for (NamedTensor& n : state_tensors()) v.tensor(n.name, n.tensor, n.kind);
}

std::uint64_t Module::add_hook(Hook h) {
  hooks_.emplace_back(++hooks_made_, std::move(h));
  return hooks_made_;
}

void Module::remove_hook(std::uint64_t id) {
  std::erase_if(hooks_, [id](const auto& h) { return h.first == id; });
}

}  // namespace lockstep
