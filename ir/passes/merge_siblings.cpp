#include "ir/passes/merge_siblings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/layers.h"
#include "ir/op.h"
#include "ir/passes/graph_rewrite.h"
#include "support/checked.h"

namespace tcc::ir {
namespace {

// A `linear` or `matmul`, with the bias that may be added to it. `last` makes the layer's result.
struct Layer {
  const Node* node;
  const Node* last;
  Value* bias = nullptr;
};
using Siblings = std::vector<Layer>;

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

// Returns the layer of a product. A constant row that is added to a product without a bias belongs
// to it, where nothing else reads the product.
Layer layer_of(const Node& node, const std::map<const Value*, Graph::Uses>& uses) {
  const Value* product = node.outputs[0];
  const Graph::Uses& used = uses.at(product);
  if (has_bias(node) || used.outputs > 0 || used.nodes.size() != 1) return {&node, &node};
  const Node& user = *used.nodes[0];
  if (user.op_name() != "add" || user.outputs[0]->type != product->type) return {&node, &node};
  Value* other = user.inputs[user.inputs[0] == product ? 1 : 0];
  const bool is_row = is_fixed(other) && other->dtype() == product->dtype() && other->rank() == 1 &&
                      other->shape()[0] == columns(node);
  return is_row ? Layer{&node, &user, other} : Layer{&node, &node};
}

// Groups of at least two, each in the graph's order. The operands' shapes make the input sizes
// agree; integer weights may differ in dtype and in what they are summed in.
std::vector<Siblings> find_siblings(const Graph& graph, const MergeSiblingsOptions& options) {
  using Key = std::tuple<const Value*, std::string_view, bool, DType, DType>;
  std::map<Key, size_t> groups;
  std::vector<Siblings> all;
  const auto uses = graph.uses();
  for (const auto& node : graph.nodes()) {
    if (!is_mergeable(*node)) continue;
    const auto [at, is_new] =
        groups.emplace(Key{node->inputs[0], node->op_name(), has_bias(*node),
                           node->inputs[1]->dtype(), node->outputs[0]->dtype()},
                       all.size());
    if (is_new) all.emplace_back();
    all[at->second].push_back(layer_of(*node, uses));
  }
  std::erase_if(all, [&](const Siblings& siblings) {
    int64_t total = 0;
    for (const Layer& layer : siblings)
      total = checked_add(total, columns(*layer.node).value()).value_or(INT64_MAX);
    return siblings.size() < 2 || total > options.max_columns;
  });
  return all;
}

// The biases of all products side by side, zeros where there is none; null without any.
Value* merged_bias(Builder& b, const Siblings& siblings) {
  if (std::ranges::none_of(siblings, [](const Layer& layer) { return layer.bias; })) return nullptr;
  std::vector<Value*> parts;
  for (const Layer& layer : siblings)
    parts.push_back(layer.bias
                        ? layer.bias
                        : b.splat(layer.node->outputs[0]->dtype(), {columns(*layer.node)}, 0));
  return b.op("cat", std::move(parts), {{"dim", 0}});
}

// The merged layer, and each sibling's part of its result.
std::vector<Value*> merge(Builder& b, const Siblings& siblings) {
  const Node& first = *siblings.front().node;
  Location all = first.location;
  for (const Layer& layer : siblings)
    all = joined(joined(all, layer.node->location), layer.last->location);
  const Location own = b.location();
  b.set_location(std::move(all));
  const auto concatenated = [&](size_t operand, int64_t dim) {
    std::vector<Value*> parts;
    for (const Layer& layer : siblings) parts.push_back(layer.node->inputs[operand]);
    return b.op("cat", std::move(parts), {{"dim", dim}});
  };
  std::vector<Value*> operands = {first.inputs[0], concatenated(1, column_dim(first))};
  if (has_bias(first)) operands.push_back(concatenated(2, 0));
  Value* merged = b.op(first.op_name(), std::move(operands), first.attrs);
  if (Value* bias = merged_bias(b, siblings)) merged = b.op("add", {merged, bias});
  b.set_location(own);
  std::vector<Value*> parts;
  SymInt begin = 0;
  for (const Layer& layer : siblings) {
    const SymInt end = begin + columns(*layer.node);
    parts.push_back(b.slice(merged, merged->rank() - 1, begin, end));
    parts.back()->name = layer.last->outputs[0]->name;
    begin = end;
  }
  return parts;
}

}  // namespace

void merge_siblings(Graph& graph, const MergeSiblingsOptions& options) {
  // The group of each node that makes a layer's result, and the layer's part of the merged result.
  std::unordered_map<const Node*, size_t> group_of;
  std::unordered_map<const Node*, Value*> part_of;
  const std::vector<Siblings> groups = find_siblings(graph, options);
  for (size_t g = 0; g < groups.size(); ++g)
    for (const Layer& layer : groups[g]) group_of[layer.last] = g;
  rewrite_nodes(graph, [&](Builder& b, const Node& node) -> Replacement {
    const auto group = group_of.find(&node);
    if (group == group_of.end()) return {};
    if (!part_of.contains(&node)) {
      const Siblings& siblings = groups[group->second];
      const std::vector<Value*> parts = merge(b, siblings);
      for (size_t k = 0; k < parts.size(); ++k) part_of[siblings[k].last] = parts[k];
    }
    return {part_of.at(&node)};
  });
}

}  // namespace tcc::ir
