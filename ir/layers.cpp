#include "ir/layers.h"

#include <algorithm>

namespace tcc::ir {
namespace {

constexpr size_t kMostLayers = 64;  // of one node or kernel

}  // namespace

std::shared_ptr<const Layers> layer_named(std::string name) {
  return std::make_shared<const Layers>(Layers{std::move(name)});
}

void name_layers(Graph& graph) {
  for (const auto& node : graph.nodes())
    if (!node->location.layers && !node->outputs.empty())
      node->location.layers = layer_named(node->outputs[0]->name);
}

void add_layers(Layers& layers, const Location& location) {
  if (!location.layers) return;
  for (const std::string& layer : *location.layers) {
    if (layers.size() >= kMostLayers) return;
    if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }
}

Location joined(Location a, const Location& b) {
  if (!b.layers || a.layers == b.layers) return a;
  Layers both;
  add_layers(both, a);
  add_layers(both, b);
  a.layers = std::make_shared<const Layers>(std::move(both));
  return a;
}

}  // namespace tcc::ir
