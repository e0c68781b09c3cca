// Stages of a graph with counted dims (ir/counted_dims.h). A run is cut at each size that it reads
// back: stage 0 comes before the first one, stage k after k of them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "ir/graph.h"

namespace tcc::sched {

class CountedStages {
 public:
  explicit CountedStages(const ir::Graph& graph);

  bool is_one() const { return first_.empty(); }
  // The first stage in which the node can run. A node that reads a size ends its stage.
  int of(const ir::Node* node) const { return is_one() ? 0 : stages_.at(node); }
  // The first stage in which all of the sizes are known.
  int of(std::span<const ir::SymInt> sizes) const;

 private:
  int of(const std::string& dim) const;

  std::map<std::string, int, std::less<>> first_;  // by counted dim: the stage that has its size
  std::unordered_map<const ir::Node*, int> stages_;
};

}  // namespace tcc::sched
