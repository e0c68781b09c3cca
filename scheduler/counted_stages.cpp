#include "scheduler/counted_stages.h"

#include <algorithm>

#include "ir/counted_dims.h"
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
    for (const ir::Value* output : node->outputs) stage = std::max(stage, of(output->shape()));
    for (const auto& [name, attr] : node->attrs)
      if (const auto* sizes = std::get_if<std::vector<ir::SymInt>>(&attr))
        stage = std::max(stage, of(*sizes));
    stages_[node.get()] = stage;
  }
}

int CountedStages::of(std::span<const ir::SymInt> sizes) const {
  int stage = 0;
  for (const ir::SymInt& size : sizes)
    size.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind != ir::Atom::Kind::symbol) return;
      if (const auto first = first_.find(atom->name); first != first_.end())
        stage = std::max(stage, first->second);
    });
  return stage;
}

}  // namespace tcc::sched
