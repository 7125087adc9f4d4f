// Installing ops and kernels: checks the tables against each other and builds the lookup.
#include <fmt/core.h>

#include "lockstep/base/error.h"
#include "tensor/table.h"

namespace lockstep {
namespace {

/// Written once at start, before any thread computes; read without a lock.
struct Table {
  std::vector<OpRow> rows;           // sorted by name
  std::vector<std::uint32_t> slots;  // open addressing by the definition's address; 0 is empty, else row + 1
  std::size_t mask = 0;
};
Table& table() {
  static Table t;
  return t;
}

std::size_t hash_of(const OpDef* op) {
  const auto a = reinterpret_cast<std::uintptr_t>(op);
  return static_cast<std::size_t>((a >> 3) * 0x9E3779B97F4A7C15ULL >> 20);
}

void check(const OpDef& op) {
  if (op.infer == nullptr) fail(Category::internal, fmt::format("op '{}' has no infer function", op.name));
  if (op.inputs.size() > kMaxInputs || op.attrs.size() > Attrs::kMax)
    fail(Category::internal, fmt::format("op '{}' has {} inputs and {} attributes; at most {} and {} are allowed",
                                         op.name, op.inputs.size(), op.attrs.size(), kMaxInputs, Attrs::kMax));
}

OpRow* row_named(std::vector<OpRow>& rows, std::string_view name) {
  const auto it = std::ranges::lower_bound(rows, name, {}, [](const OpRow& r) { return r.op->name; });
  return it != rows.end() && it->op->name == name ? &*it : nullptr;
}

void add_kernel(std::vector<OpRow>& rows, const KernelDef& k) {
  OpRow* row = row_named(rows, k.op);
  if (row == nullptr) fail(Category::internal, fmt::format("a kernel names op '{}', which no op file defines", k.op));
  if (k.device == Device::meta || k.fn == nullptr)
    fail(Category::internal, fmt::format("the kernel of op '{}' has no function or runs on the meta device", k.op));
  for (const DType t : k.dtypes) {
    auto& slot = row->kernels[static_cast<std::size_t>(k.device)][static_cast<std::size_t>(t)];
    if (slot != nullptr)
      fail(Category::internal,
           fmt::format("two kernels for op '{}', {}, {}; a key has one kernel", k.op, text(k.device), text(t)));
    slot = &k;
    row->has_kernel = true;
  }
}

}  // namespace

void install_ops(std::span<const std::span<const OpDef>> ops, std::span<const std::span<const KernelDef>> kernels) {
  Table t;
  for (const auto family : ops)
    for (const OpDef& op : family) {
      check(op);
      t.rows.emplace_back().op = &op;
    }
  std::ranges::sort(t.rows, {}, [](const OpRow& r) { return r.op->name; });
  for (std::size_t i = 1; i < t.rows.size(); ++i)
    if (t.rows[i].op->name == t.rows[i - 1].op->name)
      fail(Category::internal, fmt::format("two ops are named '{}'; names are unique", t.rows[i].op->name));
  for (const auto family : kernels)
    for (const KernelDef& k : family) add_kernel(t.rows, k);
  for (const OpRow& r : t.rows)
    if (!r.has_kernel && r.op->reference == nullptr && !r.op->view)
      fail(Category::internal, fmt::format("op '{}' has neither a kernel nor a reference composition", r.op->name));

  std::size_t size = 64;
  while (size < 4 * t.rows.size()) size *= 2;
  t.slots.assign(size, 0);
  t.mask = size - 1;
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    std::size_t at = hash_of(t.rows[i].op) & t.mask;
    while (t.slots[at] != 0) at = (at + 1) & t.mask;
    t.slots[at] = static_cast<std::uint32_t>(i + 1);
  }
  table() = std::move(t);
}

const OpRow& row_of(const OpDef& op) {
  const Table& t = table();
  if (!t.slots.empty())
    for (std::size_t at = hash_of(&op) & t.mask; t.slots[at] != 0; at = (at + 1) & t.mask)
      if (t.rows[t.slots[at] - 1].op == &op) return t.rows[t.slots[at] - 1];
  fail(Category::internal,
       fmt::format("op '{}' is not installed; install_ops() comes before the first apply()", op.name));
}

const OpDef* find_op(std::string_view name) {
  const OpRow* row = row_named(table().rows, name);
  return row == nullptr ? nullptr : row->op;
}

}  // namespace lockstep
