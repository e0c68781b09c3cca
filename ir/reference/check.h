// Checks all outputs of a graph by the rule of compare.h, with as few evaluations of the reference
// as decide it.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/reference/compare.h"
#include "ir/tensor.h"

namespace tcc::ir {

struct CheckOptions {
  bool tf32 = false;  // products of f32 may have been computed so
  // Called after every node that was evaluated, with the share of the work known to be needed that
  // is done.
  std::function<void(double share)> progress = {};
};

// Returns one comparison per output, in the graph's order. The exact and the stepwise results are
// computed once; outputs that do not agree with them are compared again with up to kNoiseDraws
// noisy ones. The graph must be bound.
std::vector<Comparison> check_outputs(const Graph& graph, std::span<const Tensor> inputs,
                                      std::span<const Tensor> outputs,
                                      const CheckOptions& options = {});

}  // namespace tcc::ir
