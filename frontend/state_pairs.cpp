#include "frontend/state_pairs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc {
namespace {

// How the next value of an input is the input with more rows: Concat along one dim, whose size is a
// symbol.
struct Growth {
  int dim;
  ir::SymInt length;
  ir::Node* cat;
};

std::optional<Growth> growth_of(const ir::Value* state, const ir::Value* next) {
  ir::Node* const cat = next->producer;
  if (!cat || cat->op_name() != "cat" || cat->inputs.size() != 2 || cat->inputs[0] != state)
    return std::nullopt;
  const auto at = cat->attr<int64_t>("dim");
  const int dim = static_cast<int>(at < 0 ? at + state->rank() : at);
  const ir::SymInt& length = state->shape()[static_cast<size_t>(dim)];
  const ir::AtomPtr symbol = length.as_atom();
  if (!symbol || symbol->kind != ir::Atom::Kind::symbol) return std::nullopt;
  return Growth{dim, length, cat};
}

// The nodes that were added last come right behind `place`, or first.
void move_added(ir::Graph& graph, size_t count, const ir::Node* place) {
  auto& nodes = graph.nodes();
  const auto at =
      place ? std::ranges::find(nodes, place, &std::unique_ptr<ir::Node>::get) + 1 : nodes.begin();
  std::rotate(at, nodes.end() - static_cast<ptrdiff_t>(count), nodes.end());
}

// The state gets room for the rows, which are appended where they were concatenated. What was read
// of the input is read of the state's first rows.
void make_growing(ir::Graph& graph, ir::Value* state, const Growth& growth) {
  ir::Node* const cat = growth.cat;
  ir::Value* const rows = cat->inputs[1];
  const ir::Shape past = state->shape();
  const ir::Shape whole = cat->outputs[0]->shape();
  state->type.shape = whole;
  const auto dim = static_cast<size_t>(growth.dim);
  ir::Builder builder(graph);
  builder.set_location(cat->location);
  ir::Value* const all = builder.op(
      "append", {state, rows},
      {{"dim", int64_t{growth.dim}}, {"length", std::vector<ir::SymInt>{growth.length}}});
  ir::Value* const present = builder.slice(all, growth.dim, 0, whole[dim]);
  ir::Value* const before = builder.slice(all, growth.dim, 0, growth.length);
  move_added(graph, 3, cat);
  ir::Value* const first = builder.slice(state, growth.dim, 0, growth.length);
  move_added(graph, 1, nullptr);
  bool is_behind = false;
  for (const auto& node : graph.nodes()) {
    is_behind |= node.get() == cat;
    if (node.get() == cat || node->stored_in() == state || node.get() == first->producer) continue;
    std::ranges::replace(node->inputs, state, is_behind ? before : first);
  }
  std::ranges::replace(graph.outputs, state, before);
  graph.replace_uses(cat->outputs[0], present);
}

}  // namespace

void make_states(ir::Graph& graph, const StatePairs& pairs, const std::string& file) {
  bool grows = false;
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
    const std::optional<Growth> growth = growth_of(state, next);
    if (!growth && !(state->type == next->type))
      fail_input(what, "the input is ", ir::to_string(state->type), ", the output ",
                 ir::to_string(next->type),
                 "; a state keeps its type, or the output is the input with more rows (Concat) "
                 "along a dim that is no number");
    graph.inputs.erase(input);
    graph.output_names.erase(output);
    graph.outputs.erase(graph.outputs.begin() + place);
    state->kind = ir::Value::Kind::state;
    state->random_range.reset();
    graph.states.push_back(state);
    if (growth)
      make_growing(graph, state, *growth);
    else
      graph.add_node(*ir::find_op("assign"), {state, next}, {}, state->location);
    grows |= growth.has_value();
  }
  if (grows) graph.remove_dead();
  if (!pairs.empty() && graph.outputs.empty())
    fail_input(file, ": no output is left beside the next values of states; a graph needs one");
}

}  // namespace tcc
