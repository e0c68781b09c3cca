#include "ir/passes/common_subexpressions.h"

#include <bit>
#include <string>
#include <unordered_map>

#include "ir/external.h"
#include "ir/layers.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

using Replacements = std::unordered_map<const Value*, Value*>;

void redirect(std::vector<Value*>& values, const Replacements& replaced) {
  for (Value*& value : values)
    if (const auto found = replaced.find(value); found != replaced.end()) value = found->second;
}

// Equal keys mean equal constants; "" for one that may not be merged.
std::string constant_key(const Value& value) {
  if (!value.is_constant() || value.is_mutable) return "";
  const auto splat = value.data->splat();
  return splat ? str(to_string(value.type), " splat ", std::bit_cast<uint64_t>(*splat))
               : str(to_string(value.type), " data ", value.data.get());
}

// Operands are told apart by their addresses.
std::string node_key(const Node& node) {
  std::string key(node.op_name());
  for (const Value* input : node.inputs) key += str(" ", input);
  for (const auto& [name, attr] : node.attrs) key += " " + name + "=" + to_string(attr);
  return key;
}

}  // namespace

void eliminate_common_subexpressions(Graph& graph) {
  Replacements replaced;
  std::unordered_map<std::string, Value*> constants;
  for (const auto& value : graph.values()) {
    const std::string key = constant_key(*value);
    if (key.empty()) continue;
    const auto [first, is_new] = constants.emplace(key, value.get());
    if (!is_new) replaced[value.get()] = first->second;
  }
  std::unordered_map<std::string, Node*> nodes;
  for (const auto& node : graph.nodes()) {
    redirect(node->inputs, replaced);
    if (!node->subgraphs.empty() || has_effects(*node)) continue;
    const auto [first, is_new] = nodes.emplace(node_key(*node), node.get());
    if (is_new) continue;
    Node& kept = *first->second;
    kept.location = joined(kept.location, node->location);
    for (size_t k = 0; k < node->outputs.size(); ++k) replaced[node->outputs[k]] = kept.outputs[k];
  }
  redirect(graph.outputs, replaced);
  graph.remove_dead();
}

}  // namespace tcc::ir
