#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Makes constants of the results of nodes whose operands are all immutable constants and whose
// sizes are all known.
//
// A folded constant is lazy: its data is computed on first use by the reference interpreter,
// together with the folded constants that it is made of, in f64 and rounded once to its dtype. If
// all elements are equal, because an elementwise op met splats, ConstantData::splat() knows the
// value.
//
// Arithmetic on indices that goes on in the graph, as an arange that is compared with another one,
// stays nodes.
//
// Nothing is folded that makes data grow: a result of more than 4096 elements and more than 4 times
// the operands' stays a node (broadcasts, iota), but for a look-up of up to 2^21 elements.
void fold_constants(Graph& graph);

}  // namespace tcc::ir
