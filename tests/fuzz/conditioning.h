// The comparison of random graphs, which may be badly conditioned: sums that cancel, values that
// are rounded to 16 bits and then widened.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::test {

// "" when the outputs are right by the rule of ir/reference/compare.h, or nearly the right ones for
// slightly other values on the way: their RMSE may exceed the rule's limit by eight times what
// changing every float, inputs and nodes' results alike, by a random part of one ulp of its type
// makes of the reference's (the largest of a few draws). Else which output is wrong and why.
std::string conditioned_difference(const ir::Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const Tensor> outputs);

}  // namespace tcc::test
