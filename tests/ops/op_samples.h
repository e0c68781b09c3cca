// The cases that ops bring along, as graphs.
#pragma once

#include <vector>

#include "ir/counted_dims.h"
#include "ir/graph.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::test {

// A graph of one node.
inline ir::Graph sample_graph(const ir::OpDef& op, const ir::OpSample& sample) {
  ir::Graph graph;
  graph.name = op.name;
  std::vector<ir::Value*> inputs;
  for (const ir::Type& type : sample.inputs) {
    const std::string name = str("x", inputs.size());
    inputs.push_back(op.stores && inputs.empty() ? graph.add_state(name, type)
                                                 : graph.add_input(name, type));
  }
  const ir::Node* node = graph.add_node(op, inputs, sample.attrs);
  if (const auto counted = ir::counted_dim(*node)) graph.dims[counted->name] = 0;
  graph.outputs = node->outputs;
  for (const ir::Value* output : node->outputs) graph.output_names.push_back(output->name);
  return graph;
}

}  // namespace tcc::test
