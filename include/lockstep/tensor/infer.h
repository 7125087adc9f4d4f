// What the infer functions of ops have in common: checks with uniform texts, and results.
#pragma once

#include "lockstep/base/error.h"
#include "lockstep/tensor/op.h"

namespace lockstep {

/// Throws usage: `<op>: <why>`.
[[noreturn]] void refuse(const OpIn& c, std::string_view why, Site site = {});
/// "input 'x' [3, 4]".
std::string input_text(const OpIn& c, std::size_t i);

/// Input i must be float32 or float64.
void need_float(const OpIn& c, std::size_t i);
/// Input i must have dtype t.
void need_dtype(const OpIn& c, std::size_t i, DType t);
/// Inputs i and j must have one dtype.
void need_same_dtype(const OpIn& c, std::size_t i, std::size_t j);
/// Inputs i and j must have one shape.
void need_same_shape(const OpIn& c, std::size_t i, std::size_t j);
/// Input i must have exactly / at least this many axes.
void need_rank(const OpIn& c, std::size_t i, std::size_t rank);
void need_rank_at_least(const OpIn& c, std::size_t i, std::size_t rank);
/// Extent `axis` of input i must be `extent`, the `of_what`.
void need_extent(const OpIn& c, std::size_t i, std::size_t axis, std::int64_t extent, std::string_view of_what);
/// Attribute i must lie in [0, rank of input 0).
std::size_t need_axis(const OpIn& c, std::size_t attr);

/// One output without a view.
inline std::vector<Meta> result(const Shape& s, DType t) { return {Meta{s, t, {}}}; }
/// Multiply-adds and the like for elementwise ops: one per output element.
std::int64_t flops_per_element(const OpIn& c);

}  // namespace lockstep
