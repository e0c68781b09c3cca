// quantize and dequantize share the rule that says which scale and zero point belong to an element.
#pragma once

#include <span>
#include <vector>

#include "ir/op.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

// "dim" and "block_size".
std::vector<AttrDef> quantization_attrs();

// Checks operand 1, the scale, and operand 2, the zero point if there is one, against operand 0, x.
// Each has one element, or one per index of `dim`, or, where block_size is positive, one per
// block_size neighbours along `dim`: x's shape with that dim divided, rounded up. The zero point
// must have `dtype`.
void check_quantization(const InferContext& context, DType dtype);

// The integers that a tensor is quantized to.
inline bool is_quantized(DType dtype) { return is_integer(dtype) && size_bytes(dtype) <= 4; }

inline int64_t block_of(int64_t index, int64_t block) { return index / block; }
inline SymInt block_of(const SymInt& index, int64_t block) { return floordiv(index, block); }

// The index into a scale or zero point of `count` dims, whose element is shared by all of x where
// it is the only one, for element `index` of x.
template <class Index>
std::vector<Index> parameter_index(const Node& node, size_t count, bool is_single,
                                   std::span<const Index> index) {
  if (is_single) return std::vector<Index>(count, Index(0));
  const auto block = node.attr<int64_t>("block_size");
  const auto dim = static_cast<size_t>(dim_attr(node, "dim", static_cast<int>(index.size())));
  if (block == 0) return {index[dim]};
  std::vector<Index> result(index.begin(), index.end());
  result[dim] = block_of(result[dim], block);
  return result;
}

// Returns the element of operand `k` for element `index` of x.
Expr parameter(ElementContext& context, int k, std::span<const SymInt> index);
// Returns the element's offset, for the reference.
int64_t parameter_offset(const EvalContext& context, size_t k, std::span<const int64_t> index);

}  // namespace tcc::ir::ops
