// All nodes of a graph as one region, whose buffers are dense.
#pragma once

#include <utility>
#include <vector>

#include "ir/graph.h"
#include "scheduler/region.h"

namespace tcc::test {

inline sched::Region whole_region(const ir::Graph& graph, std::vector<const ir::Value*> inputs,
                                  std::vector<const ir::Value*> outputs) {
  sched::Region region;
  for (const auto& node : graph.nodes()) region.nodes.push_back(node.get());
  region.inputs = std::move(inputs);
  region.outputs = std::move(outputs);
  for (const auto* values : {&region.inputs, &region.outputs})
    for (const ir::Value* value : *values)
      region.layouts[value] = sched::Layout::row_major(value->shape());
  return region;
}

inline sched::Region whole_region(const ir::Graph& graph) {
  return whole_region(graph, {graph.inputs.begin(), graph.inputs.end()},
                      {graph.outputs.begin(), graph.outputs.end()});
}

}  // namespace tcc::test
