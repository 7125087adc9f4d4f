// apply(): the one place where a tensor is computed. Autocast, infer, views or allocation, kernel, checks, history.
#include <cmath>

#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "lockstep/tensor/grad_node.h"
#include "tensor/inline_list.h"
#include "tensor/table.h"
#include "tensor/recycled.h"
#include "tensor/tensor_impl.h"

namespace lockstep {
namespace {

using Arrays = InlineList<Array, kMaxInputs>;

std::string_view where_am_i() { return scope.module != nullptr ? scope.module->path : std::string_view("-"); }

bool optional_input(std::string_view name) { return name.ends_with('?'); }

[[noreturn]] void fail_inputs(const OpDef& op, std::span<const Tensor> in) {
  std::string names;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool given = i < in.size() && in[i].defined();
    names += fmt::format("{}{}{}", i == 0 ? "" : ", ", op.inputs[i],
                         given || optional_input(op.inputs[i]) ? "" : " (missing)");
  }
  fail(Category::internal, fmt::format("{}: got {} inputs, takes {}: {}", op.name, in.size(), op.inputs.size(), names));
}

[[noreturn]] void fail_attrs(const OpDef& op, const Attrs& attrs) {
  std::string names;
  for (std::size_t i = 0; i < op.attrs.size(); ++i) names += fmt::format("{}{}", i == 0 ? "" : ", ", op.attrs[i].name);
  fail(Category::internal, fmt::format("{}: {} attributes were given; it takes {} of fixed types: {}", op.name,
                                       attrs.size(), op.attrs.size(), names));
}

[[noreturn]] void fail_kernel(const OpRow& row, Device d, DType t) {
  std::string have;
  for (std::size_t i = 0; i < kDTypes; ++i)
    if (row.kernels[static_cast<std::size_t>(d)][i] != nullptr)
      have += fmt::format("{}{}", have.empty() ? "" : ", ", text(static_cast<DType>(i)));
  fail(Category::usage, fmt::format("{}: no kernel for dtype {} on {}; kernels there take {}; cast the inputs",
                                    row.op->name, text(t), text(d), have.empty() ? "nothing" : have));
}

/// Writing needs a tensor that nothing remembers and that holds each element once.
void check_mutated(const OpDef& op, std::span<const Tensor> in) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (((op.mutates >> i) & 1U) == 0 || !in[i].defined()) continue;
    const Tensor& t = in[i];
    if (t.requires_grad() && (t.node()->op != nullptr || scope.grad))
      fail(Category::usage,
           fmt::format("{}: writes its input '{}', which {}; write under NoGrad to a leaf, or to a detached tensor",
                       op.name, op.inputs[i],
                       t.node()->op != nullptr ? fmt::format("is a result of op '{}' with history", t.node()->op->name)
                                               : "requires a gradient that is being recorded"));
    for (std::size_t a = 0; a < t.rank(); ++a)
      if (t.strides()[a] == 0 && t.shape()[a] > 1)
        fail(Category::usage,
             fmt::format("{}: writes its input '{}' of shape {}, whose axis {} is expanded (stride 0): several "
                         "elements share one place; make it contiguous first",
                         op.name, op.inputs[i], text(t.shape()), a));
  }
}

template <class T>
void scan(const OpDef& op, const Tensor& t, std::size_t output) {
  const T* v = static_cast<const T*>(t.raw());
  std::int64_t bad = 0, first = -1;
  for (std::int64_t i = 0, n = t.numel(); i < n; ++i)
    if (!std::isfinite(v[i])) {
      if (bad++ == 0) first = i;
    }
  if (bad > 0)
    fail(Category::numeric,
         fmt::format("{}: output {} of shape {} has {} non-finite values of {}; the first is {} at element {}; "
                     "module '{}'",
                     op.name, output, text(t.shape()), bad, t.numel(), v[first], first, where_am_i()));
}

void check_finite(const OpDef& op, std::span<const Tensor> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].device() == Device::meta || !out[i].contiguous()) continue;
    if (out[i].dtype() == DType::f32) scan<float>(op, out[i], i);
    if (out[i].dtype() == DType::f64) scan<double>(op, out[i], i);
  }
}

void add_array(Arrays& list, const TensorImpl& t) {
  list.emplace(static_cast<void*>(nullptr), t.shape, t.strides, t.dtype);
}

/// `t` under the shape `to`: stride 0 where it repeats. Broadcasting was validated by infer.
void add_expanded(Arrays& list, const TensorImpl& t, const Shape& to) {
  if (t.shape == to) return add_array(list, t);
  Array& a = list.emplace(static_cast<void*>(nullptr), to, Strides{}, t.dtype);
  const std::size_t lead = to.rank() - t.shape.rank();
  for (std::size_t i = lead; i < to.rank(); ++i)
    a.strides[i] = t.shape[i - lead] == 1 && to[i] != 1 ? 0 : t.strides[i - lead];
}

DType key_dtype(std::span<const Tensor> in, std::span<const Meta> out) {
  for (const Tensor& t : in)
    if (t.defined()) return t.id()->dtype;
  return out.empty() ? DType::f32 : out[0].dtype;
}

Device device_of(const OpDef& op, std::span<const Tensor> in) {
  Device d = Device::cpu;
  bool any = false;
  for (const Tensor& t : in) {
    if (!t.defined()) continue;
    if (t.id()->device == Device::meta) return Device::meta;
    if (any && t.id()->device != d)
      fail(Category::usage,
           fmt::format("{}: inputs are on {} and {}; they must be on one device", op.name, text(d), text(t.device())));
    d = t.id()->device;
    any = true;
  }
  return d;
}

void run_kernel(const OpDef& op, const KernelDef& k, std::span<const Tensor> in, std::span<const Tensor> out,
                const Attrs& attrs) {
  Arrays ins, outs;
  for (const Tensor& t : in) {
    if (!t.defined())
      ins.emplace();
    else if (op.elementwise && !out.empty())
      add_expanded(ins, *t.id(), out[0].id()->shape);
    else
      add_array(ins, *t.id());
  }
  for (const Tensor& t : out) add_array(outs, *t.id());
  KernelCall call{op, ins.view(), outs.view(), attrs, nullptr};
  std::optional<Storage> workspace;
  if (k.workspace != nullptr) {
    if (const std::size_t bytes = k.workspace(call); bytes > 0)
      call.workspace = workspace.emplace(bytes, Device::cpu).data();
  }
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].defined()) ins[i].data = first_element(*in[i].impl());
  for (std::size_t i = 0; i < out.size(); ++i) outs[i].data = first_element(*out[i].impl());
  k.fn(call);
}

/// Handles with the inferred shapes: views where infer says so, fresh memory (none on meta) otherwise.
Tensors make_outputs(std::span<const Meta> metas, std::span<const Tensor> in, Device d) {
  Tensors out;
  out.reserve(metas.size());
  for (const Meta& m : metas) {
    if (m.view)
      out.push_back(Tensor::view_of(in[m.view->input], m.shape, m.view->strides, m.view->offset));
    else
      out.push_back(Tensor::empty(m.shape, m.dtype, d));
  }
  return out;
}

void record(const OpDef& op, std::span<const Tensor> in, std::span<const Meta> in_meta, const Attrs& attrs,
            Tensors& out, bool own) {
  auto node = std::allocate_shared<GradNode>(Recycled<GradNode>());
  node->op = &op;
  node->attrs = attrs;
  node->number = next_node_number();
  if (scope.module != nullptr) {
    node->module_path = scope.module->path;
    node->module_origin = scope.module->origin;
  }
  const auto saves = static_cast<unsigned>(op.vjp != nullptr ? op.saves : Save::inputs);
  node->edges.resize(in.size());
  node->in_meta.assign(in_meta.begin(), in_meta.end());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].defined()) continue;
    node->present |= 1U << i;
    if (in[i].requires_grad()) node->edges[i] = {in[i].node(), in[i].output_index()};
  }
  if ((saves & 1U) != 0) {
    node->in.reserve(in.size());
    for (const Tensor& t : in) node->in.push_back({t, t.version()});
  }
  node->out_meta.reserve(out.size());
  for (const Tensor& t : out) node->out_meta.push_back(t.meta());
  if ((saves & 2U) != 0)
    for (const Tensor& t : out) node->out.push_back({with_history(t, nullptr, 0), t.version()});
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!is_floating(out[i].dtype())) continue;
    if (!own) {
      out[i] = with_history(out[i], node, i);
      continue;
    }
    out[i].impl()->node = node;
    out[i].impl()->output_index = i;
  }
}

/// Autocast: `low` ops see the compute dtype, `full` ops float32. Other floating dtypes (float64) are left alone.
Tensors apply_cast(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  const DType low = scope.compute;
  if (low != DType::bf16 && low != DType::f16)
    fail(Category::usage,
         fmt::format("autocast to {}: the compute dtype must be float32, bfloat16 or float16", text(low)));
  const OpDef* cast = find_op("cast");
  if (cast == nullptr) fail(Category::internal, "autocast needs the op 'cast', which is not installed");
  const DType to = op.autocast == Autocast::low ? low : DType::f32;
  const DType from = op.autocast == Autocast::low ? DType::f32 : low;
  Scope inner = scope;
  inner.compute = DType::f32;
  const Within within(inner);
  Tensors moved(in.begin(), in.end());
  for (Tensor& t : moved)
    if (t.defined() && t.dtype() == from) t = apply1(*cast, {t}, {to});
  return apply(op, moved, attrs);
}

Tensors apply_dense(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  const OpDef* contiguous = find_op("contiguous");
  if (contiguous == nullptr) fail(Category::internal, "a dense op needs the op 'contiguous', which is not installed");
  Tensors moved(in.begin(), in.end());
  for (Tensor& t : moved)
    if (!t.contiguous()) t = apply1(*contiguous, {t});
  return apply(op, moved, attrs);
}

/// The composition, seen by the tracer as one op.
Tensors run_reference(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  Scope inner = scope;
  inner.tracer = nullptr;
  if (op.vjp != nullptr) inner.grad = false;
  const Within within(inner);
  return op.reference(in, attrs);
}

}  // namespace

Tensors apply(const OpDef& op, std::span<const Tensor> in, const Attrs& attrs) {
  const OpRow& row = row_of(op);
  if (in.size() < op.inputs.size()) {
    if (!optional_input(op.inputs[in.size()])) fail_inputs(op, in);
    Tensors padded(in.begin(), in.end());
    padded.resize(op.inputs.size());
    return apply(op, padded, attrs);
  }
  if (in.size() != op.inputs.size()) fail_inputs(op, in);
  if (attrs.size() != op.attrs.size()) fail_attrs(op, attrs);
  for (std::size_t i = 0; i < attrs.size(); ++i)
    if (attrs[i].index() != op.attrs[i].def.index()) fail_attrs(op, attrs);
  if (scope.compute != DType::f32 && op.autocast != Autocast::follow) return apply_cast(op, in, attrs);

  InlineList<Meta, kMaxInputs> metas;
  bool history = false, dense = true;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const TensorImpl* t = in[i].id();
    if (t == nullptr) {
      if (!optional_input(op.inputs[i])) fail_inputs(op, in);
      metas.emplace();
      continue;
    }
    metas.emplace(t->shape, t->dtype);
    history = history || t->node != nullptr;
    dense = dense && t->contiguous;
  }
  const std::vector<Meta> result = op.infer({op, metas.view(), attrs, in});
  if (op.mutates != 0) check_mutated(op, in);
  if (op.dense && !dense) return apply_dense(op, in, attrs);
  const Device device = device_of(op, in);

  if (scope.profiler != nullptr) scope.profiler->before(op, in);
  Tensors out;
  const KernelDef* kernel = nullptr;
  bool own = true, composed = false;        // own: `out` are fresh handles
  const bool dry = device == Device::meta;  // shapes and dtypes only, no history
  if (!op.view && !dry)
    kernel = row.kernels[static_cast<std::size_t>(device)][static_cast<std::size_t>(key_dtype(in, result))];
  if (kernel != nullptr) {
    out = make_outputs(result, in, device);
    run_kernel(op, *kernel, in, out, attrs);
    if (op.mutates != 0)
      for (std::size_t i = 0; i < in.size(); ++i)
        if (((op.mutates >> i) & 1U) != 0 && in[i].defined()) in[i].storage()->touch();
  } else if (dry || (op.view && result[0].view)) {
    out = make_outputs(result, in, device);
  } else if (op.reference != nullptr) {
    out = run_reference(op, in, attrs);
    own = false;
    composed = op.vjp == nullptr;
  } else {
    fail_kernel(row, device, key_dtype(in, result));
  }
  if (scope.profiler != nullptr) scope.profiler->after(op, out);
  if (scope.detect_anomaly) check_finite(op, out);
  if (history && scope.grad && !composed && !dry && op.gradient != Gradient::none)
    record(op, in, metas.view(), attrs, out, own);
  if (scope.tracer != nullptr) scope.tracer->record(op, in, attrs, out);
  return out;
}

Tensor apply1(const OpDef& op, std::initializer_list<Tensor> in, const Attrs& attrs) {
  Tensors out = apply(op, std::span(in.begin(), in.size()), attrs);
  if (out.size() != 1)
    fail(Category::internal, fmt::format("{}: apply1 expects one output, the op has {}", op.name, out.size()));
  return std::move(out[0]);
}

}  // namespace lockstep
