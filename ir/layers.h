// The names of the user's layers, which nodes carry through passes in their locations: what reports
// say a kernel computes. They are no part of any key.
#pragma once

#include <memory>
#include <string>

#include "ir/graph.h"

namespace tcc::ir {

// One layer, as a location has it.
std::shared_ptr<const Layers> layer_named(std::string name);

// Nodes without a layer become one, called as their first result is: graphs of YAML, text or C++.
void name_layers(Graph& graph);

// Appends those of `location` that `layers` has not, up to a limit.
void add_layers(Layers& layers, const Location& location);

// `a`'s place with the layers of both: of a node that does the work of two.
Location joined(Location a, const Location& b);

}  // namespace tcc::ir
