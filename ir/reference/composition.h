// The composition of one composite node as a graph of its own.
#pragma once

#include <string>

#include "ir/graph.h"

namespace tcc::ir {

// Returns a graph whose inputs are the node's operands (omitted ones left out) and whose outputs
// are its results, made of the op's composition; it has the node's location. The composition may
// hold composites again.
Graph composition_graph(const Node& node);

// Equal keys mean equal compositions: the op, its attributes and the types of the operands.
std::string composition_key(const Node& node);

}  // namespace tcc::ir
