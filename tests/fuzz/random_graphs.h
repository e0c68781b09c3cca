// Seeded random graphs whose values stay tame, and the smallest part of one that still fails.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/graph.h"

namespace tcc::test {

struct RandomGraphOptions {
  int min_nodes = 5, max_nodes = 25;
  int64_t max_elements = 4096;  // of one value
};

// The same graph for the same seed on every machine. Floats stay within a few tens, nothing divides
// by what may be near 0, and what is discontinuous (comparisons, rounding, arg reductions) only
// sees floats that were computed without rounding, so that a right compiler passes ir::compare.
ir::Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

// A small graph that still fails: one output, and as many nodes as possible replaced by inputs.
ir::Graph minimize(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& fails);

}  // namespace tcc::test
