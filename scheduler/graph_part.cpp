#include "scheduler/graph_part.h"

#include <algorithm>
#include <deque>

#include "ir/external.h"
#include "ir/op.h"
#include "scheduler/inline.h"
#include "scheduler/layout.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;
using ir::Value;

constexpr size_t kMostPartNodes = 32;

bool has_fixed_shapes(const Node* node) {
  const auto is_fixed = [](const Value* value) {
    return !value || std::ranges::all_of(value->shape(), &SymInt::is_const);
  };
  return std::ranges::all_of(node->inputs, is_fixed) &&
         std::ranges::all_of(node->outputs, is_fixed);
}

bool reduce_alike(const Node* a, const Node* b) {
  if (a->op->kind != OpKind::reduce || b->op->kind != OpKind::reduce) return false;
  const ReductionDims of_a = reduction_dims(a), of_b = reduction_dims(b);
  return of_a.rows() == of_b.rows() && of_a.cols() == of_b.cols();
}

}  // namespace

GraphParts::GraphParts(const ir::Graph& graph) : graph_(graph), uses_(graph.uses()) {
  for (const auto& node : graph.nodes()) position_.emplace(node.get(), position_.size());
}

bool GraphParts::joins(const Node* other, const Node* node,
                       const std::set<const Node*>& kept) const {
  // An op on a product's elements takes as long in its kernel as in that of its parts' sum.
  const bool is_kind = other->op->kind == OpKind::view || other->op_name() == "cast" ||
                       (node->op->kind != OpKind::contraction &&
                        (other->op->kind == OpKind::pointwise || reduce_alike(other, node)));
  return is_kind && other->op_name() != "identity" && !other->stored_in() &&
         !kept.contains(other) && has_fixed_shapes(other);
}

std::vector<const Node*> GraphParts::around(const Node* node,
                                            const std::set<const Node*>& kept) const {
  std::set<const Node*> nodes = {node};
  std::deque<const Node*> open = {node};
  // Nodes after this one wait for nothing but the part and what comes before this node.
  const auto is_ready = [&](const Node* user) {
    return std::ranges::all_of(user->inputs, [&](const Value* input) {
      return !input || !input->producer || nodes.contains(input->producer) ||
             position_.at(input->producer) < position_.at(node);
    });
  };
  const auto visit = [&](const Node* other) {
    if (nodes.size() >= kMostPartNodes || nodes.contains(other) || !joins(other, node, kept))
      return;
    nodes.insert(other);
    open.push_back(other);
  };
  while (!open.empty()) {
    const Node* next = open.front();
    open.pop_front();
    for (const Value* input : next->inputs)
      if (input && input->producer && position_.at(input->producer) < position_.at(node))
        visit(input->producer);
    for (const Value* output : next->outputs) {
      const auto uses = uses_.find(output);
      if (uses == uses_.end()) continue;
      for (const Node* user : uses->second.nodes)
        if (position_.at(user) > position_.at(node) && is_ready(user) &&
            node->op->kind != OpKind::contraction)
          visit(user);
    }
  }
  std::vector<const Node*> all(nodes.begin(), nodes.end());
  std::ranges::sort(all, {}, [&](const Node* n) { return position_.at(n); });
  return all;
}

GraphPart GraphParts::part(const std::vector<const Node*>& nodes) const {
  GraphPart part;
  part.graph = std::make_unique<ir::Graph>();
  const std::set<const Node*> inside(nodes.begin(), nodes.end());
  std::map<const Value*, Value*> values;
  const auto operand = [&](const Value* value) -> Value* {
    if (!value) return nullptr;
    Value*& copy = values[value];
    if (copy) return copy;
    if (value->is_constant()) {
      copy = part.graph->add_constant(value->name, value->type, value->data);
      copy->is_mutable = value->is_mutable;
    } else {
      copy = part.graph->add_input(value->name, value->type);
      if (has_free_layout(graph_, value)) part.free_inputs.insert(copy);
    }
    return copy;
  };
  for (const Node* node : nodes) {
    std::vector<Value*> inputs;
    for (const Value* input : node->inputs) inputs.push_back(operand(input));
    const Node* copy = part.graph->add_node(*node->op, std::move(inputs), node->attrs);
    part.copies[node] = copy;
    for (size_t k = 0; k < node->outputs.size(); ++k) values[node->outputs[k]] = copy->outputs[k];
  }
  std::set<const Value*> stored;
  const auto store = [&](const Value* value) {
    while (value->producer && inside.contains(value->producer) &&
           value->producer->op->kind == OpKind::view)
      value = value->producer->inputs[0];
    if (!value->producer || !inside.contains(value->producer) || !stored.insert(value).second)
      return;
    if (has_free_layout(graph_, value)) part.free_outputs.insert(part.graph->outputs.size());
    part.graph->outputs.push_back(values.at(value));
    part.graph->output_names.push_back(value->name);
  };
  for (const Node* node : nodes)
    for (const Value* output : node->outputs) {
      const auto uses = uses_.find(output);
      if (uses == uses_.end()) continue;
      const bool is_read = uses->second.outputs > 0 ||
                           std::ranges::any_of(uses->second.nodes, [&](const Node* user) {
                             return !inside.contains(user);
                           });
      if (is_read) store(output);
    }
  return part;
}

}  // namespace tcc::sched
