#include "ir/passes/single_run.h"

#include <map>
#include <memory>
#include <utility>

#include "ir/append.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "ir/tensor_rows.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

using Values = std::map<const Value*, Value*>;

// The node that appends to the state; null: none does.
const Node* append_to(const Graph& graph, const Value* state) {
  for (const auto& node : graph.nodes())
    if (appends(*node) && node->stored_in() == state) return node.get();
  return nullptr;
}

// Adds the nodes of the run. `values` has what they read, and gets their results.
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

ConstantPtr first_value(const Value& value) {
  return value.data ? value.data : make_splat(value.dtype(), const_shape(value), 0);
}

// The state's memory when the run begins. Behind the rows that count it is as it was at first.
ConstantPtr begun_with(const Graph& graph, const Value& state, const Tensor& before) {
  if (before.shape() == const_shape(state))
    return make_constant(std::make_shared<const Tensor>(before));
  const Node* node = append_to(graph, &state);
  TCC_CHECK(node, "state '", state.name, "' of ", to_string(state.type), " begins as ",
            type_text(before.dtype(), before.shape()));
  const Append append = append_of(*node);
  TCC_CHECK(before.shape().at(static_cast<size_t>(append.dim)) == append.length.value(), "state '",
            state.name, "' is ", type_text(before.dtype(), before.shape()), ", not ", append.length,
            " long");
  Tensor whole = *first_value(state)->load();
  copy_rows(before, whole, append.dim);
  return make_constant(std::make_shared<const Tensor>(std::move(whole)));
}

}  // namespace

Graph single_run(const Graph& graph, std::span<const Tensor> before) {
  TCC_CHECK(before.empty() || before.size() == graph.states.size(), before.size(), " values of ",
            graph.states.size(), " states");
  Graph result;
  result.name = graph.name;
  result.dims = graph.dims;
  Values values = {{nullptr, nullptr}};
  for (const Value* input : graph.inputs) {
    values[input] = result.add_input(input->name, input->type);
    values[input]->random_range = input->random_range;
  }
  for (const auto& value : graph.values())
    if (value->kind == Value::Kind::constant) {
      values[value.get()] = result.add_constant(value->name, value->type, first_value(*value));
      values[value.get()]->is_mutable = value->is_mutable;
    }
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const Value& state = *graph.states[i];
    values[&state] = result.add_constant(
        state.name, state.type,
        before.empty() ? first_value(state) : begun_with(graph, state, before[i]));
    values[&state]->is_mutable = state.is_mutable;
  }
  add_run(graph, result, values);
  for (const Value* output : graph.outputs) result.outputs.push_back(values.at(output));
  result.output_names = graph.output_names;
  Values after;
  for (const auto& node : graph.nodes())
    if (const Value* state = node->stored_in()) after[state] = values.at(node->outputs[0]);
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const Value* state = graph.states[i];
    const auto stored = after.find(state);
    Value* value = stored == after.end() ? values.at(state) : stored->second;
    if (!before.empty() && before[i].shape() != const_shape(*state)) {
      const Append append = append_of(*append_to(graph, state));
      value = Builder(result).slice(value, append.dim, 0, append.needed());
    }
    result.outputs.push_back(value);
    result.output_names.push_back(state->name);
  }
  result.make_names_unique();
  return result;
}

}  // namespace tcc::ir
