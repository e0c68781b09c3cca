// The scatter ops share operands x, index, src and attribute `dim`.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace tcc::ir::ops {

// One position along `dim` of index and src, as an element of the output sees it.
struct Scattered {
  size_t dim;
  SymInt axis, extent;        // the position, a fresh axis, and how many there are
  std::vector<SymInt> index;  // into index and src, in range
  Expr hit;                   // this position writes to the element
};
// Returns nothing when index is empty.
std::optional<Scattered> scattered_source(ElementContext& context, std::span<const SymInt> index);

// The reduction that "sum", "prod", "mean" (a sum), "amax" and "amin" of PyTorch and "add", "mul",
// "max" and "min" of ONNX name, what it starts from, and its step: of expressions, and of the
// reference (out[to] with src[from]).
ReduceKind scatter_kind(std::string_view reduction);
Expr scatter_identity(ReduceKind kind, DType dtype);
Expr scatter_fold(ReduceKind kind, const Expr& a, const Expr& b);
void scatter_fold(ReduceKind kind, RefTensor& out, size_t to, const RefTensor& src, size_t from);

// The op with its shape rule and samples; without element and reference.
OpDef scatter_op(std::string name, std::string doc);

// The reference: out = x, then write(out, to, src, from) for every element of index in row-major
// order.
void scatter(
    EvalContext& context,
    const std::function<void(RefTensor& out, size_t to, const RefTensor& src, size_t from)>& write);

}  // namespace tcc::ir::ops
