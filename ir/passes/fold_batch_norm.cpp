#include "ir/passes/fold_batch_norm.h"

#include <algorithm>

#include "ir/op.h"
#include "ir/ops/_norm.h"
#include "ir/passes/graph_rewrite.h"

namespace tcc::ir {
namespace {

bool is_foldable_op(const Node& node) {
  constexpr std::string_view ops[] = {"conv1d", "conv2d", "conv3d", "linear"};
  return std::find(std::begin(ops), std::end(ops), node.op_name()) != std::end(ops);
}

bool all_fixed(std::span<Value* const> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const Value* v) { return !v || is_fixed(v); });
}

// The layer in front of a batch_norm that it folds into, or null.
const Node* foldable_layer(const Node& norm, const std::map<const Value*, Graph::Uses>& uses) {
  if (norm.op_name() != "batch_norm" || norm.attr<bool>("training")) return nullptr;
  const Value* x = norm.inputs[0];
  if (!x->producer || !is_foldable_op(*x->producer)) return nullptr;
  const Graph::Uses& users = uses.at(x);
  if (users.nodes.size() != 1 || users.outputs != 0) return nullptr;
  // The layer's output channels must be dim 1, which they are not without a batch dim or for linear
  // on a longer input; the weight must keep what it is scaled by.
  const Value* weight = x->producer->inputs[1];
  if (x->rank() != weight->rank() || x->dtype() != weight->dtype()) return nullptr;
  const bool fixed = all_fixed(std::span(norm.inputs).subspan(1)) &&
                     all_fixed(std::span(x->producer->inputs).subspan(1));
  return fixed ? x->producer : nullptr;
}

Value* fold(Builder& b, const Node& norm, const Node& layer) {
  Value* weight = layer.inputs[1];
  const DType dtype = weight->dtype(), wide = compute_dtype(dtype);
  const auto statistic = [&](size_t k) {
    return norm.inputs[k] ? b.cast(norm.inputs[k], wide) : nullptr;
  };
  Value* mean = statistic(1);
  Value* scale =
      b.unary("rsqrt", b.op("add", {statistic(2), b.scalar(wide, norm.attr<double>("eps"))}));
  if (Value* gamma = statistic(3)) scale = b.mul(scale, gamma);
  Value* centered =
      layer.inputs[2] ? b.sub(b.cast(layer.inputs[2], wide), mean) : b.unary("neg", mean);
  Value* bias = b.mul(centered, scale);
  if (Value* beta = statistic(4)) bias = b.add(bias, beta);
  Value* scaled = b.op("mul", {b.cast(weight, wide), ops::along_dim(b, scale, 0, weight->rank())});
  return b.op(layer.op_name(), {layer.inputs[0], b.cast(scaled, dtype), b.cast(bias, dtype)},
              layer.attrs);
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  const auto uses = graph.uses();
  rewrite_nodes(graph, [&](Builder& b, const Node& node) -> Replacement {
    const auto found = uses.find(node.inputs.empty() ? nullptr : node.inputs[0]);
    if (found == uses.end()) return {};  // the operand was made here
    const Node* layer = foldable_layer(node, uses);
    return layer ? Replacement{fold(b, node, *layer)} : Replacement{};
  });
}

}  // namespace tcc::ir
