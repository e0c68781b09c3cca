#include "ir/passes/graph_rewrite.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/op.h"
#include "support/error.h"

namespace tcc::ir {

bool rewrite_nodes(Graph& graph, const std::function<Replacement(Builder&, const Node&)>& replace) {
  std::unordered_map<const Value*, Value*> replaced;
  const auto redirect = [&](std::vector<Value*>& values) {
    for (Value*& value : values)
      if (const auto found = replaced.find(value); found != replaced.end()) value = found->second;
  };
  std::vector<std::unique_ptr<Node>> done, retired;
  std::vector<std::unique_ptr<Node>> pending = std::exchange(graph.nodes(), {});
  Builder builder(graph);
  for (auto& node : pending) {
    redirect(node->inputs);
    builder.set_location(node->location);
    const Replacement values = replace(builder, *node);
    std::unordered_set<const Node*> made;
    for (auto& each : std::exchange(graph.nodes(), {})) {
      made.insert(each.get());
      done.push_back(std::move(each));
    }
    if (values.empty()) {
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
  graph.remove_dead();
  return !retired.empty();
}

}  // namespace tcc::ir
