#include <algorithm>
#include <string>

#include "tests/fuzz/random_graphs.h"

namespace tcc::test {
namespace {

using ir::Graph;
using ir::Value;

void drop_unused(Graph& graph) {
  graph.remove_dead();
  const auto uses = graph.uses();
  std::erase_if(graph.inputs, [&](Value* input) {
    const auto found = uses.find(input);
    return found == uses.end() || (found->second.nodes.empty() && found->second.outputs == 0);
  });
  graph.remove_dead();
}

Graph with_output(const Graph& graph, size_t node, size_t result) {
  Graph part = graph.clone();
  part.outputs = {part.nodes()[node]->outputs[result]};
  part.output_names = {"out"};
  drop_unused(part);
  return part;
}

Graph without_output(const Graph& graph, size_t output) {
  Graph part = graph.clone();
  part.outputs.erase(part.outputs.begin() + static_cast<std::ptrdiff_t>(output));
  part.output_names.erase(part.output_names.begin() + static_cast<std::ptrdiff_t>(output));
  drop_unused(part);
  return part;
}

// The results of a node become inputs.
Graph without_node(const Graph& graph, size_t node) {
  Graph part = graph.clone();
  int number = 0;
  for (Value* result : std::vector<Value*>(part.nodes()[node]->outputs)) {
    Value* input =
        part.add_input("cut_" + result->name + "_" + std::to_string(number++), result->type);
    part.replace_uses(result, input);
  }
  drop_unused(part);
  return part;
}

}  // namespace

Graph minimize(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  Graph best = graph.clone();
  // The first result that is wrong, as the only output.
  for (size_t node = 0; node < graph.nodes().size(); ++node) {
    bool found = false;
    for (size_t result = 0; result < graph.nodes()[node]->outputs.size() && !found; ++result) {
      Graph part = with_output(graph, node, result);
      if (!fails(part)) continue;
      best = std::move(part);
      found = true;
    }
    if (found) break;
  }
  for (size_t output = best.outputs.size(); output-- > 0 && best.outputs.size() > 1;) {
    Graph part = without_output(best, output);
    if (fails(part)) best = std::move(part);
  }
  for (size_t node = 0; node < best.nodes().size();) {
    Graph part = without_node(best, node);
    if (part.nodes().size() < best.nodes().size() && !part.nodes().empty() && fails(part))
      best = std::move(part);
    else
      ++node;
  }
  return best;
}

}  // namespace tcc::test
