#include "ir/passes/rotate_before_norms.h"

#include <algorithm>
#include <map>

#include "ir/op.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/sizes.h"

namespace tcc::ir {
namespace {

// How many dims a norm of rows reduces; 0: the node is none.
size_t normalized_dims(const Node& node) {
  const bool is_norm = node.op_name() == "rms_norm" ||
                       (node.op_name() == "layer_norm" && !node.attr<bool>("return_statistics"));
  return is_norm ? node.attr<std::vector<SymInt>>("normalized_shape").size() : 0;
}

bool is_only_user(const Value* value, const std::map<const Value*, Graph::Uses>& uses) {
  const auto found = uses.find(value);
  return found != uses.end() && found->second.nodes.size() == 1 && found->second.outputs == 0;
}

// The norm whose value the node joins slices of, all of whose users are these; or null.
const Node* rotated_norm(const Node& cat, const std::map<const Value*, Graph::Uses>& uses) {
  if (cat.op_name() != "cat" || cat.inputs.size() < 2) return nullptr;
  const auto dim = cat.attr<int64_t>("dim");
  const Value* whole = nullptr;
  for (const Value* part : cat.inputs) {
    const Node* slice = part->producer;
    if (!slice || slice->op_name() != "slice" || !is_only_user(part, uses)) return nullptr;
    if (whole && slice->inputs[0] != whole) return nullptr;
    whole = slice->inputs[0];
  }
  const auto users = uses.find(whole);
  if (!whole->producer || users == uses.end() || users->second.outputs > 0 ||
      users->second.nodes.size() != cat.inputs.size())
    return nullptr;
  const size_t normalized = normalized_dims(*whole->producer), rank = whole->shape().size();
  const int64_t at = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
  if (normalized == 0 || at >= static_cast<int64_t>(rank - normalized)) return nullptr;
  const Shape& joined = cat.outputs[0]->shape();
  if (joined.size() != rank ||
      !std::equal(joined.end() - static_cast<std::ptrdiff_t>(normalized), joined.end(),
                  whole->shape().end() - static_cast<std::ptrdiff_t>(normalized)))
    return nullptr;
  return usual_numel(cat.outputs[0]) <= usual_numel(whole) ? whole->producer : nullptr;
}

Value* rotate(Builder& b, const Node& cat, const Node& norm) {
  std::vector<Value*> parts;
  for (const Value* part : cat.inputs)
    parts.push_back(b.op("slice", {norm.inputs[0]}, part->producer->attrs));
  std::vector<Value*> operands = norm.inputs;
  operands[0] = b.op("cat", parts, cat.attrs);
  return b.op(norm.op_name(), operands, norm.attrs);
}

}  // namespace

void rotate_before_norms(Graph& graph) {
  // New nodes of a round have no users yet: a rotation along another dim is seen in the next one.
  for (bool changed = true; changed;) {
    const auto uses = graph.uses();
    changed = rewrite_nodes(graph, [&](Builder& b, const Node& node) -> Replacement {
      if (!std::ranges::all_of(node.inputs, [&](const Value* v) { return uses.contains(v); }))
        return {};
      const Node* norm = rotated_norm(node, uses);
      return norm ? Replacement{rotate(b, node, *norm)} : Replacement{};
    });
  }
}

}  // namespace tcc::ir
