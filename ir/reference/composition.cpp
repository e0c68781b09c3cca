#include "ir/reference/composition.h"

#include "ir/builder.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {

Graph composition_graph(const Node& node) {
  TCC_CHECK(node.op->compose, node.op_name(), " has no composition");
  Graph graph;
  graph.name = node.op_name();
  // The op sees these in the node's place: the same types, in this graph.
  Node proxy;
  proxy.op = node.op;
  proxy.attrs = node.attrs;
  proxy.location = node.location;
  for (const Value* input : node.inputs)
    proxy.inputs.push_back(input ? graph.add_input(str("x", graph.inputs.size()), input->type)
                                 : nullptr);
  std::vector<std::unique_ptr<Value>> results;
  for (const Value* output : node.outputs) {
    results.push_back(std::make_unique<Value>(*output));
    results.back()->producer = nullptr;
    proxy.outputs.push_back(results.back().get());
  }

  Builder builder(graph);
  builder.set_location(node.location);
  graph.outputs = node.op->compose(builder, proxy);
  TCC_CHECK(graph.outputs.size() == node.outputs.size(), node.op_name(), " composes ",
            graph.outputs.size(), " results of ", node.outputs.size());
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    TCC_CHECK(graph.outputs[k]->type == node.outputs[k]->type, node.op_name(), " result ", k,
              " is composed as ", to_string(graph.outputs[k]->type), ", but inferred as ",
              to_string(node.outputs[k]->type));
    graph.output_names.push_back(str("out", k));
  }
  graph.remove_dead();
  return graph;
}

std::string composition_key(const Node& node) {
  std::string key(node.op_name());
  for (const auto& [name, attr] : node.attrs) key += " " + name + "=" + to_string(attr);
  for (const Value* input : node.inputs) key += input ? " " + to_string(input->type) : " _";
  return key;
}

}  // namespace tcc::ir
