// Movement ops: an element of the output is one element of the operand, at another index.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/op.h"
#include "ir/ops/_attributes.h"
#include "ir/ops/_index_loop.h"

namespace tcc::ir::ops {

// Maps an index of the output to one of operand 0, or back.
using IndexMap = std::function<std::vector<SymInt>(const Node&, std::span<const SymInt>)>;

struct View {
  std::string name;
  std::string doc;
  std::vector<AttrDef> attrs = {};
  std::function<Shape(const InferContext&)> shape;  // of the output; the dtype is the operand's
  IndexMap source;
  IndexMap inverse = {};  // null where the map is no bijection
  std::function<void(EvalContext&)> reference;
};

// A view op of one operand, x, without samples.
OpDef view(View spec);

// ---- reference loops

// Copies the operand's elements in their order, for reshape and similar ops.
void copy_flat(EvalContext& context);
// Element `index` of the output is x[offset + sum of index * strides], as torch.as_strided.
void copy_strided(EvalContext& context, int64_t offset, std::span<const int64_t> strides);
// Copies element `from` of x to element `to` of out; both of one dtype.
void copy_element(const RefTensor& x, int64_t from, RefTensor& out, int64_t to);
// Element `index` of the output is x[source(index)]; `source` fills in an index that starts as
// zeros.
void copy_indexed(
    EvalContext& context,
    const std::function<void(std::span<const int64_t> index, std::span<int64_t> source)>& source);

// ---- index maps

// Returns the index in a tensor of shape `to` of the element that has `index` in one of shape
// `from`, both row-major with equally many elements. Dims that the two shapes share are mapped one
// to one, so that indices stay simple.
std::vector<SymInt> reshaped_index(std::span<const SymInt> index, const Shape& from,
                                   const Shape& to);
// Returns the map of the ops that only regroup dims: reshaped_index from the output's to the
// operand's shape, and back.
std::vector<SymInt> regroup(const Node& node, std::span<const SymInt> index);
std::vector<SymInt> regroup_inverse(const Node& node, std::span<const SymInt> index);
// A view that only regroups dims.
OpDef regrouping(std::string name, std::string doc, std::vector<AttrDef> attrs,
                 std::function<Shape(const InferContext&)> shape);

// Returns `target` with a -1 replaced by the quotient that keeps the number of elements of `from`;
// fails unless both shapes have equally many elements. Where symbols leave that open, it is checked
// once they are bound.
Shape resolved_reshape(const InferContext& context, const Shape& from, const Shape& target);

// `index` brought into [0, extent).
SymInt clamped_index(const SymInt& index, const SymInt& extent);

}  // namespace tcc::ir::ops
