// Seeds: sets of nodes that a template proposes as one region, beyond what joining a node at a time
// finds, such as two products with a softmax between them (docs/add-a-template.md).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "scheduler/fusion_groups.h"

namespace tcc::sched {

// Nodes that are placed together: one, or those of a seed.
using Unit = std::vector<const ir::Node*>;

// Gets the reason why a proposed set of nodes is not one region.
using SeedRefused = std::function<void(const Unit& nodes, const std::string& reason)>;

// The graph's nodes, but for light ones, in an order in which all that a unit reads comes before
// it. Units of several
// nodes are the seeds that a template takes, and whose kernels take no longer than those of
// their products and of what stands between them.
std::vector<Unit> units_with_seeds(const FusionGroups& groups, const Target& target,
                                   const SeedRefused& refused = {});

// The nodes of all such seeds, which graph passes leave as they are.
std::set<const ir::Node*> seeded_nodes(const ir::Graph& graph, const Target& target,
                                       const RegionPrecision& precision);

}  // namespace tcc::sched
