// Copies of graph inputs (and of mutable weights) for matrix products whose asynchronous loads need
// longer rows than these have: an `identity` that stays a kernel of its own, whose result gets such
// a layout (layout.h). Simplification would remove it.
#pragma once

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// The operands of the product that views and casts make of `value`: a sum of 1 and 2, for the first
// and the second.
int64_t operands_made_of(const ir::Node& product, const ir::Value* value);

// The product of copies: `operands` is a sum as above. The views and casts between a copy and the
// operand are made again.
ir::Replacement copy_operands(ir::Builder& builder, const ir::Node& product, int64_t operands);

// One copy serves all products of a value. Graph outputs keep theirs.
void merge_copies(ir::Graph& graph);

}  // namespace tcc::sched
