#pragma once

#include "ir/graph.h"

namespace tcc::ir {

// Returns whether convert_precision() reads and makes the type: floating point that is computed in.
// f8 stays, as integers do.
bool is_precision(DType dtype);

// The graph with its floating point in `dtype`: inputs and constants of a float type become
// `dtype`, so do attributes that ask for f32, and every node's type follows. What ops compute in
// f32 inside (normalisation statistics, softmax sums, losses) stays f32, and so do angles: what
// sin, cos and tan are computed from and give, where that begins with integers and constants
// (positions). Constants are converted when they are loaded.
Graph convert_precision(const Graph& graph, DType dtype);

}  // namespace tcc::ir
