// Rows by index: index_select, index_add (sums in source order, NUMERICS A7), one_hot.
#include <cstring>
#include <span>

#include "kernels/strided.h"
#include "lockstep/base/error.h"
#include "lockstep/base/pool.h"

namespace lockstep {
namespace {

constexpr DType kStored[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64,
                             DType::i32, DType::u8,  DType::i8,   DType::boolean};
constexpr DType kFloats[] = {DType::f32, DType::f64};
constexpr DType kIndex[] = {DType::i64};
constexpr std::int64_t kInlineElements = 65536;   // less than this is done by the caller
constexpr std::int64_t kTaskElements = 16384;

std::int64_t index_at(const Array& index, std::int64_t i) { return index.as<std::int64_t>()[i * index.strides[0]]; }

/// Throws data on the first index outside [0, extent). Before anything is written.
void check_index(const Array& index, std::int64_t extent, std::string_view op) {
  for (std::int64_t i = 0; i < index.shape[0]; ++i) {
    const std::int64_t at = index_at(index, i);
    if (at >= 0 && at < extent) continue;
    failf(Category::data,
          "{}: index[{}] is {}, but the axis has {} entries; an index lies in [0, {}): check what made the indices",
          op, i, at, extent, extent);
  }
}

/// A contiguous array seen as [outer, extent, inner] around one axis.
struct Around {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
Around around(const Shape& shape, std::size_t axis) {
  Around out;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i < axis) out.outer *= shape[i];
    if (i > axis) out.inner *= shape[i];
  }
  out.extent = shape[axis];
  return out;
}

/// Element `at` of one axis: the same shape with extent 1 there.
void* slice(const Array& x, std::size_t axis, std::int64_t at, Shape& shape) {
  shape = x.shape;
  shape[axis] = 1;
  return static_cast<char*>(x.data) + at * x.strides[axis] * static_cast<std::int64_t>(size_of(x.dtype));
}

/// f(begin, end) over [0, units), on the pool when there is enough to do.
void split(std::int64_t units, std::int64_t elements_per_unit, const auto& f) {
  if (units * elements_per_unit <= kInlineElements) return f(std::int64_t{0}, units);
  const std::int64_t per_task = std::max<std::int64_t>(kTaskElements / std::max<std::int64_t>(elements_per_unit, 1), 1);
  parallel_for((units + per_task - 1) / per_task,
               [&](std::int64_t i) { f(i * per_task, std::min(units, (i + 1) * per_task)); });
}

void index_select(const KernelCall& call) {
  const Array& x = call.in[0];
  const Array& index = call.in[1];
  const Array& y = call.out[0];
  const auto axis = static_cast<std::size_t>(call.attrs.get<std::int64_t>(0));
  check_index(index, x.shape[axis], "index_select");
  if (y.numel() == 0) return;
  if (!x.contiguous()) {
    for (std::int64_t i = 0; i < index.shape[0]; ++i) {
      Shape shape;
      void* to = slice(y, axis, i, shape);
      const void* from = slice(x, axis, index_at(index, i), shape);
      copy_strided(shape, to, y.strides, from, x.strides, size_of(y.dtype));
    }
    return;
  }
  const Around a = around(x.shape, axis);
  const std::int64_t rows = index.shape[0];
  const std::int64_t bytes = a.inner * static_cast<std::int64_t>(size_of(x.dtype));
  split(a.outer * rows, a.inner, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t from = u / rows * a.extent + index_at(index, u % rows);
      copy_bytes(y.as<char>() + u * bytes, x.as<const char>() + from * bytes, static_cast<std::size_t>(bytes));
    }
  });
}

template <class T>
void add_into(const Run& run) {
  T* y = static_cast<T*>(run.at[0]);
  const T* x = static_cast<const T*>(run.at[1]);
  for (std::int64_t i = 0; i < run.n; ++i) y[i] += x[i];
}

/// Tasks own columns of the rows, so each destination takes its sources one after the other.
template <class T>
void add_rows(const Array& y, const Array& index, const Array& source, std::size_t axis) {
  const Around to = around(y.shape, axis);
  const std::int64_t rows = index.shape[0];
  const std::int64_t width = std::min<std::int64_t>(to.inner, 64);
  const std::int64_t pieces = (to.inner + width - 1) / width;
  split(to.outer * pieces, rows * width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t outer = u / pieces;
      const std::int64_t column = u % pieces * width;
      for (std::int64_t i = 0; i < rows; ++i) {
        Run run;
        run.n = std::min(width, to.inner - column);
        run.at[0] = y.as<T>() + (outer * to.extent + index_at(index, i)) * to.inner + column;
        run.at[1] = source.as<T>() + (outer * rows + i) * to.inner + column;
        add_into<T>(run);
      }
    }
  });
}

void index_add(const KernelCall& call) {
  const Array& x = call.in[0];
  const Array& index = call.in[1];
  const Array& source = call.in[2];
  const Array& y = call.out[0];
  const auto axis = static_cast<std::size_t>(call.attrs.get<std::int64_t>(0));
  check_index(index, x.shape[axis], "index_add");
  if (y.data != x.data) copy_strided(y.shape, y.data, y.strides, x.data, x.strides, size_of(y.dtype));
  if (y.numel() == 0 || source.numel() == 0) return;
  const bool single = y.dtype == DType::f32;
  if (source.contiguous()) {
    return single ? add_rows<float>(y, index, source, axis) : add_rows<double>(y, index, source, axis);
  }
  for (std::int64_t i = 0; i < index.shape[0]; ++i) {
    Shape shape;
    void* to = slice(y, axis, index_at(index, i), shape);
    void* from = slice(source, axis, i, shape);
    const std::size_t size = size_of(y.dtype);
    const Operand operands[] = {{to, &shape, &y.strides, size, true}, {from, &shape, &source.strides, size}};
    for_each_run(shape, operands, single ? &add_into<float> : &add_into<double>, nullptr);
  }
}

struct OneHot {
  char* out;
  std::int64_t classes;
  std::size_t size;
  unsigned char one[8];
};
void one_hot_loop(const Run& run) {
  const OneHot& p = *static_cast<const OneHot*>(run.params);
  const std::int64_t* index = static_cast<const std::int64_t*>(run.at[0]);
  const std::size_t row = static_cast<std::size_t>(p.classes) * p.size;
  for (std::int64_t i = 0; i < run.n; ++i) {
    char* y = p.out + static_cast<std::size_t>(run.first + i) * row;
    std::memset(y, 0, row);
    if (index[i] >= 0 && index[i] < p.classes) std::memcpy(y + static_cast<std::size_t>(index[i]) * p.size, p.one, p.size);
  }
}

template <class T>
void put_one(OneHot& p) {
  const T one{1};
  std::memcpy(p.one, &one, sizeof one);
}

void one_hot(const KernelCall& call) {
  const Array& index = call.in[0];
  const Array& y = call.out[0];
  OneHot p{y.as<char>(), call.attrs.get<std::int64_t>(0), size_of(y.dtype), {}};
  switch (y.dtype) {
    case DType::f32: put_one<float>(p); break;
    case DType::f64: put_one<double>(p); break;
    case DType::i64: put_one<std::int64_t>(p); break;
    case DType::i32: put_one<std::int32_t>(p); break;
    default: put_one<std::uint8_t>(p); break;
  }
  const Operand operand{index.data, &index.shape, &index.strides, sizeof(std::int64_t)};
  for_each_run(index.shape, {&operand, 1}, &one_hot_loop, &p, std::max<std::int64_t>(p.classes, 1));
}

constexpr KernelDef kKernels[] = {
    {.op = "index_select", .dtypes = kStored, .fn = &index_select},
    {.op = "index_add", .dtypes = kFloats, .fn = &index_add},
    {.op = "one_hot", .dtypes = kIndex, .fn = &one_hot},
};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_index = kKernels;

}  // namespace lockstep
