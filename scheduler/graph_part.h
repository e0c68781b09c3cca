// A part of a graph as a graph of its own, in which rewrites are tried.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ir/graph.h"

namespace tcc::sched {

struct GraphPart {
  std::unique_ptr<ir::Graph> graph;
  std::map<const ir::Node*, const ir::Node*> copies;  // of the whole's nodes
  // Inputs and outputs that other kernels of the whole write and read: their layouts may change.
  // The outputs are meant as numbers of the part's.
  std::set<const ir::Value*> free_inputs;
  std::set<size_t> free_outputs;
};

// Finds nodes that may be one kernel with a given one, and makes parts of the graph of them.
class GraphParts {
 public:
  explicit GraphParts(const ir::Graph& graph);

  // A contraction with the views and casts that make its operands; another node with what is
  // computed element by element before and after it, nearest first, and a reduction with those of
  // as many rows and columns. Topological, of limited size. Nodes in `kept` and those with open
  // dims do not belong to it.
  std::vector<const ir::Node*> around(const ir::Node* node,
                                      const std::set<const ir::Node*>& kept) const;
  // The nodes' operands from outside are its inputs, or its constants. Its outputs are what others
  // read; of views, what they show.
  GraphPart part(const std::vector<const ir::Node*>& nodes) const;

 private:
  bool joins(const ir::Node* other, const ir::Node* node,
             const std::set<const ir::Node*>& kept) const;

  const ir::Graph& graph_;
  std::map<const ir::Value*, ir::Graph::Uses> uses_;
  std::map<const ir::Node*, size_t> position_;
};

}  // namespace tcc::sched
