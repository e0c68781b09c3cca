#include "ir/passes/merge_siblings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/op.h"
#include "ir/passes/graph_rewrite.h"
#include "support/checked.h"

namespace tcc::ir {
namespace {

using Siblings = std::vector<const Node*>;

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2]; }

// The dim of the weight that holds the output columns.
int64_t column_dim(const Node& node) { return node.op_name() == "linear" ? 0 : 1; }

const SymInt& columns(const Node& node) {
  return node.inputs[1]->shape()[static_cast<size_t>(column_dim(node))];
}

bool is_mergeable(const Node& node) {
  if (node.op_name() != "linear" && node.op_name() != "matmul") return false;
  const Value* weight = node.inputs[1];
  return is_fixed(weight) && weight->rank() == 2 && columns(node).is_const() &&
         (!has_bias(node) || is_fixed(node.inputs[2]));
}

// Groups of at least two, each in the graph's order. The operands' shapes make the input sizes
// agree; integer weights may differ in dtype and in what they are summed in.
std::vector<Siblings> find_siblings(const Graph& graph, const MergeSiblingsOptions& options) {
  using Key = std::tuple<const Value*, std::string_view, bool, DType, DType>;
  std::map<Key, size_t> groups;
  std::vector<Siblings> all;
  for (const auto& node : graph.nodes()) {
    if (!is_mergeable(*node)) continue;
    const auto [at, is_new] =
        groups.emplace(Key{node->inputs[0], node->op_name(), has_bias(*node),
                           node->inputs[1]->dtype(), node->outputs[0]->dtype()},
                       all.size());
    if (is_new) all.emplace_back();
    all[at->second].push_back(node.get());
  }
  std::erase_if(all, [&](const Siblings& siblings) {
    int64_t total = 0;
    for (const Node* node : siblings)
      total = checked_add(total, columns(*node).value()).value_or(INT64_MAX);
    return siblings.size() < 2 || total > options.max_columns;
  });
  return all;
}

// The merged layer, and each sibling's part of its result.
std::vector<Value*> merge(Builder& b, const Siblings& siblings) {
  const Node& first = *siblings.front();
  const auto concatenated = [&](size_t operand, int64_t dim) {
    std::vector<Value*> parts;
    for (const Node* node : siblings) parts.push_back(node->inputs[operand]);
    return b.op("cat", std::move(parts), {{"dim", dim}});
  };
  std::vector<Value*> operands = {first.inputs[0], concatenated(1, column_dim(first))};
  if (has_bias(first)) operands.push_back(concatenated(2, 0));
  Value* merged = b.op(first.op_name(), std::move(operands), first.attrs);
  std::vector<Value*> parts;
  SymInt begin = 0;
  for (const Node* node : siblings) {
    parts.push_back(b.slice(merged, merged->rank() - 1, begin, begin + columns(*node)));
    parts.back()->name = node->outputs[0]->name;
    begin = begin + columns(*node);
  }
  return parts;
}

}  // namespace

void merge_siblings(Graph& graph, const MergeSiblingsOptions& options) {
  // A node's group, while that is not merged yet, and then the node's part.
  std::unordered_map<const Node*, size_t> group_of;
  std::unordered_map<const Node*, Value*> part_of;
  const std::vector<Siblings> groups = find_siblings(graph, options);
  for (size_t g = 0; g < groups.size(); ++g)
    for (const Node* node : groups[g]) group_of[node] = g;
  rewrite_nodes(graph, [&](Builder& b, const Node& node) -> Replacement {
    const auto group = group_of.find(&node);
    if (group == group_of.end()) return {};
    if (!part_of.contains(&node)) {
      const Siblings& siblings = groups[group->second];
      const std::vector<Value*> parts = merge(b, siblings);
      for (size_t k = 0; k < parts.size(); ++k) part_of[siblings[k]] = parts[k];
    }
    return {part_of.at(&node)};
  });
}

}  // namespace tcc::ir
