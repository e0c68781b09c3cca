// The reduction ops share their attributes, shape rule and reference loop.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::ir::ops {

// `dim`: the dims to reduce, negative ones counted from the end, none for all; `keepdim`: keep them
// with extent 1.
std::vector<AttrDef> reduction_attrs();

// Returns the dims that a node's `dim` names, in ascending order; every dim of the operand for an
// empty list. The first form reports a dim that is out of range or named twice as a bad graph.
std::vector<int> reduced_dims(const InferContext& context, int rank);
std::vector<int> reduced_dims(const Node& node);

// Returns `shape` without `dims` (ascending), or with 1 in their place.
Shape reduced_shape(const Shape& shape, std::span<const int> dims, bool keepdim);

// Returns the dtype of sums and products of `dtype`: i64 for integers and bool, `dtype` itself for
// floats.
DType accumulated_dtype(DType dtype);

// Calls body(output, base, offsets) once for every element `output` of x reduced over `dims`, on
// several threads: the elements that it is made of are x[base + offset], in row-major order of the
// reduced dims.
void for_each_reduction(const RefTensor& x, std::span<const int> dims,
                        const std::function<void(int64_t output, int64_t base,
                                                 std::span<const int64_t> offsets)>& body);

// A reduce op without samples. The output's dtype: bool for any and all, i64 for the arg kinds, the
// operand's for max and min, accumulated_dtype() for sum and prod. Over no elements, max, min and
// the arg kinds are refused.
OpDef reduce_op(std::string name, ReduceKind kind, std::string doc);

// A composite over `dim` and `keepdim` without samples: float operand "x", output of the same
// dtype.
OpDef reduction_composite(
    std::string name, std::string doc,
    std::function<Value*(Builder&, const Node&, const std::vector<int64_t>& dims)> compose);

// Returns the number of elements that reducing `dims` of `shape` combines into one, as a scalar of
// `dtype`.
Value* reduced_count(Builder& b, const Shape& shape, std::span<const int> dims, DType dtype);
// Returns a size as a scalar of `dtype`: a constant where it is known.
Value* size_scalar(Builder& b, const SymInt& size, DType dtype);

// Makes max and min of PyTorch: values along dim with their indices, or the one value.
OpDef extremum_op(std::string name, std::string doc, std::string values_op, std::string indices_op);

}  // namespace tcc::ir::ops
