#include "ir/passes/unroll_runs.h"

#include <map>

#include "ir/append.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

using Values = std::map<const Value*, Value*>;

// Adds the nodes of one run. `values` has what they read, and gets their results.
void add_run(const Graph& graph, Graph& to, Values& values) {
  for (const auto& node : graph.nodes()) {
    if (appends(*node)) {
      const Append append = append_of(*node);
      const SymInt room = append.state->shape()[static_cast<size_t>(append.dim)];
      Builder builder(to);
      Value* const state = values.at(append.state);
      values[node->outputs[0]] =
          builder.op("cat",
                     {builder.slice(state, append.dim, 0, append.length), values.at(append.rows),
                      builder.slice(state, append.dim, append.needed(), room)},
                     {{"dim", append.dim}});
      continue;
    }
    if (node->stored_in()) {
      values[node->outputs[0]] = values.at(node->inputs[1]);
      continue;
    }
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs) inputs.push_back(input ? values.at(input) : nullptr);
    const Node* copy = to.add_node(*node->op, inputs, node->attrs, node->location);
    for (size_t k = 0; k < node->outputs.size(); ++k) values[node->outputs[k]] = copy->outputs[k];
  }
}

}  // namespace

Graph unroll_runs(const Graph& graph, int runs) {
  TCC_CHECK(runs >= 1, runs, " runs");
  for (const auto& node : graph.nodes())
    if (runs > 1 && appends(*node))
      fail_input("state '", node->inputs[0]->name,
                 "' grows from run to run: several runs are no one graph");
  Graph result;
  result.name = graph.name;
  result.dims = graph.dims;
  Values values = {{nullptr, nullptr}};
  for (const Value* input : graph.inputs) {
    values[input] = result.add_input(input->name, input->type);
    values[input]->random_range = input->random_range;
  }
  for (const auto& value : graph.values()) {
    if (value->kind != Value::Kind::constant && value->kind != Value::Kind::state) continue;
    const ConstantPtr data =
        value->data ? value->data : make_splat(value->dtype(), const_shape(*value), 0);
    values[value.get()] = result.add_constant(value->name, value->type, data);
    values[value.get()]->is_mutable = value->is_mutable;
  }
  for (int run = 0; run < runs; ++run) {
    add_run(graph, result, values);
    if (run == runs - 1)
      for (const Value* output : graph.outputs) result.outputs.push_back(values.at(output));
    Values next;
    for (const auto& node : graph.nodes())
      if (const Value* state = node->stored_in()) next[state] = values.at(node->outputs[0]);
    for (const auto& [state, value] : next) values[state] = value;
  }
  result.output_names = graph.output_names;
  for (const Value* state : graph.states) {
    result.outputs.push_back(values.at(state));
    result.output_names.push_back(state->name);
  }
  result.make_names_unique();
  return result;
}

}  // namespace tcc::ir
