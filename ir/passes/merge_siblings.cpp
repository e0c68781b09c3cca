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

// The matrix that a product multiplies by, and its dim that holds the output columns. A matrix that
// a `matmul` turns first is a `linear`'s.
struct Weight {
  Value* value;
  int64_t column_dim;
  const SymInt& columns() const { return value->shape()[static_cast<size_t>(column_dim)]; }
};

bool turns(const Node& node) {
  const Value* x = node.inputs.empty() ? nullptr : node.inputs[0];
  if (!x || x->rank() != 2) return false;
  if (node.op_name() == "permute") return node.ints("dims")[0] % 2 != 0;
  return node.op_name() == "transpose" &&
         (node.attr<int64_t>("dim0") - node.attr<int64_t>("dim1")) % 2 != 0;
}

Weight weight_of(const Node& node) {
  Value* weight = node.inputs[1];
  if (node.op_name() == "linear") return {weight, 0};
  if (is_float(weight->dtype()) && weight->producer && turns(*weight->producer))
    return {weight->producer->inputs[0], 0};
  return {weight, 1};
}

bool is_mergeable(const Node& node) {
  if (node.op_name() != "linear" && node.op_name() != "matmul") return false;
  const Weight weight = weight_of(node);
  return is_fixed(weight.value) && weight.value->rank() == 2 && weight.columns().is_const() &&
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
                      other->shape()[0] == weight_of(node).columns();
  return is_row ? Layer{&node, &user, other} : Layer{&node, &node};
}

// Groups of at least two, each in the graph's order. The operands' shapes make the input sizes
// agree; integer weights may differ in dtype and in what they are summed in.
std::vector<Siblings> find_siblings(const Graph& graph, const MergeSiblingsOptions& options) {
  using Key = std::tuple<const Value*, int64_t, bool, DType, DType>;
  std::map<Key, size_t> groups;
  std::vector<Siblings> all;
  const auto uses = graph.uses();
  for (const auto& node : graph.nodes()) {
    if (!is_mergeable(*node)) continue;
    const auto [at, is_new] =
        groups.emplace(Key{node->inputs[0], weight_of(*node).column_dim, has_bias(*node),
                           node->inputs[1]->dtype(), node->outputs[0]->dtype()},
                       all.size());
    if (is_new) all.emplace_back();
    all[at->second].push_back(layer_of(*node, uses));
  }
  std::erase_if(all, [&](const Siblings& siblings) {
    int64_t total = 0;
    for (const Layer& layer : siblings)
      total = checked_add(total, weight_of(*layer.node).columns().value()).value_or(INT64_MAX);
    return siblings.size() < 2 || total > options.max_columns;
  });
  return all;
}

// The biases of all products side by side, zeros where there is none; null without any.
Value* merged_bias(Builder& b, const Siblings& siblings) {
  if (std::ranges::none_of(siblings, [](const Layer& layer) { return layer.bias; })) return nullptr;
  std::vector<Value*> parts;
  for (const Layer& layer : siblings)
    parts.push_back(layer.bias ? layer.bias
                               : b.splat(layer.node->outputs[0]->dtype(),
                                         {weight_of(*layer.node).columns()}, 0));
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
  const int64_t column_dim = weight_of(first).column_dim;
  std::vector<Value*> weights, biases;
  for (const Layer& layer : siblings) {
    weights.push_back(weight_of(*layer.node).value);
    if (has_bias(first)) biases.push_back(layer.node->inputs[2]);
  }
  std::vector<Value*> operands = {first.inputs[0], b.op("cat", weights, {{"dim", column_dim}})};
  if (has_bias(first)) operands.push_back(b.op("cat", biases, {{"dim", int64_t{0}}}));
  Value* merged = b.op(column_dim == 0 ? "linear" : "matmul", std::move(operands), first.attrs);
  if (Value* bias = merged_bias(b, siblings)) merged = b.op("add", {merged, bias});
  b.set_location(own);
  std::vector<Value*> parts;
  SymInt begin = 0;
  for (const Layer& layer : siblings) {
    const SymInt end = begin + weight_of(*layer.node).columns();
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
