// Dims that a graph takes for equal to expressions of others.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ir/graph.h"
#include "ir/size_range.h"

namespace tcc::ir {

using DimExpressions = std::map<std::string, SymInt, std::less<>>;  // by the names of dims

// Writes dims of the graph as expressions of others, in all its shapes and attributes, and returns
// them: those of `given` ("total" = past + 1), and each dim without a number that some op takes for
// equal to an expression of open dims, as masks of `total` keys added to scores of `past + 1` do.
// Such a dim is none of graph.dims and `open` any more: other dims decide it, and programs hold the
// shapes of inputs to it. A dim that is equal to another one gives it its range.
//
// Throws Error(bad_input) where `given` names a dim that the graph lacks, that has a number, or
// that its expression uses, and where the range of such a dim lacks values of the expression.
DimExpressions write_equal_dims(Graph& graph, const Numbers& numbers, SizeRanges& open,
                                const DimExpressions& given = {});

}  // namespace tcc::ir
