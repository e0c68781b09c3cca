#include "scheduler/counted_stages.h"

#include <algorithm>

#include "ir/counted_dims.h"
#include "ir/sizes.h"
#include "support/error.h"

namespace tcc::sched {

CountedStages::CountedStages(const ir::Graph& graph) {
  for (const ir::CountedDim& dim : ir::counted_dims(graph))
    first_.emplace(dim.name, static_cast<int>(first_.size()) + 1);
  if (is_one()) return;
  for (const auto& node : graph.nodes()) {
    int stage = 0;
    for (const ir::Value* input : node->inputs) {
      if (!input || !input->producer) continue;
      const auto counted = ir::counted_dim(*input->producer);
      stage = std::max(stage, counted ? first_.at(counted->name) : of(input->producer));
    }
    if (const auto counted = ir::counted_dim(*node)) {
      const int own = first_.at(counted->name) - 1;
      TCC_CHECK(stage <= own, "the size of '", counted->name, "' follows from a later one");
      stages_[node.get()] = own;
      continue;
    }
    for (const std::string& dim : ir::open_dims_of(*node)) stage = std::max(stage, of(dim));
    stages_[node.get()] = stage;
  }
}

int CountedStages::of(const std::string& dim) const {
  const auto first = first_.find(dim);
  return first == first_.end() ? 0 : first->second;
}

int CountedStages::of(std::span<const ir::SymInt> sizes) const {
  int stage = 0;
  for (const std::string& dim : ir::open_dims(sizes)) stage = std::max(stage, of(dim));
  return stage;
}

}  // namespace tcc::sched
