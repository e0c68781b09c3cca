// Several families of import rules share these helpers.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/onnx/op_node.h"
#include "ir/op.h"

namespace tcc::onnx {

constexpr std::string_view kMicrosoft = "com.microsoft";  // the domain of ONNX Runtime's operators

// Imports an operator of one operand and no attributes as the op of the same meaning.
template <const char* op>
Results unary(OpNode& n) {
  return {n.b.op(op, {n.in(0)})};
}

// Does the same for an operator that had hints about in-place buffers in opset 1.
template <const char* op>
Results old_unary(OpNode& n) {
  n.ignore("consumed_inputs");
  return unary<op>(n);
}

// Returns the second operand of an elementwise operator in the shape that broadcasting needs.
// Before opset 7, an `axis` said which dims of the first operand its dims match.
Value* broadcast_operand(OpNode& n, Value* a, Value* b);

// A scalar of x's type.
inline Value* like(OpNode& n, const Value* x, double value) {
  return n.b.scalar(x->dtype(), value);
}

// [first, ...] * count.
inline std::vector<int64_t> repeated(int64_t value, size_t count) {
  return std::vector<int64_t>(count, value);
}

std::vector<int64_t> iota(int64_t from, int64_t to);

// The axes of an operator that took them as an attribute before opset `since` and takes them as
// input `k` from then on; nothing where they are omitted.
std::optional<std::vector<int64_t>> axes_attr_or_input(OpNode& n, int since, size_t k);

// An expression of dims as an i64 scalar.
inline Value* scalar(OpNode& n, const SymInt& value) {
  return n.b.reshape(n.dims_value({value}), {});
}

// A vector as a tensor of x's rank that has it along `dim`.
Value* along_dim(OpNode& n, Value* vector, const Value* x, int64_t dim);

// Softmax along `axis`; before opset 13, over all dims from it on, taken as one.
Value* softmax_along(OpNode& n, Value* x, int64_t axis, bool one_dim,
                     std::string_view op = "softmax");

// The activation that ONNX Runtime fuses behind a product, "" for none, with its parameters.
Value* fused_activation(OpNode& n, Value* x, const std::string& name,
                        const std::vector<double>& parameters);

// All results of an op.
inline Results all_of(const std::vector<Value*>& values) { return {values.begin(), values.end()}; }

}  // namespace tcc::onnx
