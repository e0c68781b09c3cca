#pragma once

#include <functional>

#include "ir/graph.h"

namespace tcc::ir {

// Replaces every composite node by its composition, and the composites in that, until none is left
// but those that `keep` accepts (ops that a kernel template computes as one) and those that have no
// composition with open dims. The values that replace a composite's results take over their names;
// new nodes have the composite's location. Nodes that become dead are removed.
void decompose(Graph& graph, const std::function<bool(const Node&)>& keep = {});

// The same, where `keep` is told where a composite comes from: its path is what `root` calls the
// graph's composite in which it stands, and the number among its siblings in each composition:
// "y/3/0". Names of values tell less: a composite's last op takes over its result's name, and
// other names count the ops made so far.
void decompose(Graph& graph, const std::function<std::string(const Node&)>& root,
               const std::function<bool(const Node&, const std::string& path)>& keep);

}  // namespace tcc::ir
