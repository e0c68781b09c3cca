#include "frontend/state_pairs.h"

#include <algorithm>

#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc {

void make_states(ir::Graph& graph, const StatePairs& pairs, const std::string& file) {
  for (const auto& [from, to] : pairs) {
    const auto input = std::ranges::find(graph.inputs, from, &ir::Value::name);
    const auto output = std::ranges::find(graph.output_names, to);
    const std::string what =
        str(file, ": state ", quoted_name(from), ", next value ", quoted_name(to), ": ");
    if (input == graph.inputs.end()) {
      std::vector<std::string> known;
      for (const ir::Value* value : graph.inputs) known.push_back(value->name);
      fail_input(what, "the graph has no such input", yaml::or_known(from, known));
    }
    if (output == graph.output_names.end())
      fail_input(what, "the graph has no such output", yaml::or_known(to, graph.output_names));
    ir::Value* const state = *input;
    const auto place = output - graph.output_names.begin();
    ir::Value* const next = graph.outputs[static_cast<size_t>(place)];
    if (!(state->type == next->type))
      fail_input(what, "the input is ", ir::to_string(state->type), ", the output ",
                 ir::to_string(next->type), "; a state keeps its type");
    graph.inputs.erase(input);
    graph.output_names.erase(output);
    graph.outputs.erase(graph.outputs.begin() + place);
    state->kind = ir::Value::Kind::state;
    state->random_range.reset();
    graph.states.push_back(state);
    graph.add_node(*ir::find_op("assign"), {state, next}, {}, state->location);
  }
  if (!pairs.empty() && graph.outputs.empty())
    fail_input(file, ": no output is left beside the next values of states; a graph needs one");
}

}  // namespace tcc
