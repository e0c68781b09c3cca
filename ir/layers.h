// Nodes carry the names of the user's layers through passes in their locations. Reports name a
// kernel's work by them. They are no part of any key.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"

namespace tcc::ir {

// One layer, as a location has it.
std::shared_ptr<const Layers> layer_named(std::string name);

// Nodes without a layer (in graphs of YAML, text or C++) get one that is named like their first
// result.
void name_layers(Graph& graph);

// Appends the layers of `location` that `layers` lacks, up to a limit.
void add_layers(Layers& layers, const Location& location);

// Returns `a`'s place with the layers of both, for a node that does the work of two.
Location joined(Location a, const Location& b);

}  // namespace tcc::ir
