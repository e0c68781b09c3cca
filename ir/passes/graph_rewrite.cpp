#include "ir/passes/graph_rewrite.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "ir/external.h"
#include "ir/layers.h"
#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

// A node that was replaced, and the nodes in its place.
struct Replaced {
  const Node* node;
  std::vector<Node*> made;
};

// The nodes in the place of a replaced one also do what its operands computed for it alone: they
// get those layers, too.
void pass_on_layers(const Graph& graph, std::span<const Replaced> all) {
  if (all.empty()) return;
  std::unordered_set<const Value*> live(graph.outputs.begin(), graph.outputs.end());
  for (const auto& node : graph.nodes() | std::views::reverse)
    if (std::ranges::any_of(node->outputs, [&](const Value* v) { return live.contains(v); }) ||
        has_effects(*node))
      live.insert(node->inputs.begin(), node->inputs.end());
  for (const auto& [node, made] : all) {
    if (made.empty()) continue;
    Location location = node->location;
    std::vector<const Node*> pending = {node};
    std::unordered_set<const Value*> seen;
    while (!pending.empty()) {
      const Node* user = pending.back();
      pending.pop_back();
      for (const Value* operand : user->inputs) {
        if (!operand || !operand->producer || live.contains(operand)) continue;
        if (!seen.insert(operand).second) continue;
        location = joined(location, operand->producer->location);
        pending.push_back(operand->producer);
      }
    }
    if (location.layers != node->location.layers)
      for (Node* each : made) each->location.layers = location.layers;
  }
}

}  // namespace

bool rewrite_nodes(Graph& graph, const std::function<Replacement(Builder&, const Node&)>& replace) {
  std::unordered_map<const Value*, Value*> replaced;
  const auto redirect = [&](std::vector<Value*>& values) {
    for (Value*& value : values)
      if (const auto found = replaced.find(value); found != replaced.end()) value = found->second;
  };
  std::vector<std::unique_ptr<Node>> done, retired;
  std::vector<Replaced> all;
  std::vector<std::unique_ptr<Node>> pending = std::exchange(graph.nodes(), {});
  Builder builder(graph);
  for (auto& node : pending) {
    redirect(node->inputs);
    builder.set_location(node->location);
    const Replacement values = replace(builder, *node);
    std::unordered_set<const Node*> made;
    Replaced& here = all.emplace_back(Replaced{node.get(), {}});
    for (auto& each : std::exchange(graph.nodes(), {})) {
      made.insert(each.get());
      here.made.push_back(each.get());
      done.push_back(std::move(each));
    }
    if (values.empty()) {
      all.pop_back();
      done.push_back(std::move(node));
      continue;
    }
    TCC_CHECK(values.size() == node->outputs.size(), node->op_name(), " has ", node->outputs.size(),
              " results");
    for (size_t k = 0; k < values.size(); ++k) {
      Value* old = node->outputs[k];
      TCC_CHECK(values[k]->type == old->type, node->op_name(), ": ", to_string(values[k]->type),
                " for ", to_string(old->type));
      replaced[old] = values[k];
      if (made.erase(values[k]->producer)) values[k]->name = old->name;
    }
    retired.push_back(std::move(node));
  }
  redirect(graph.outputs);
  graph.nodes() = std::move(done);
  pass_on_layers(graph, all);
  graph.remove_dead();
  return !retired.empty();
}

}  // namespace tcc::ir
