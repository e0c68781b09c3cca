// Other graphs for a node's results, which a candidate proposes and the compiler compares by cost
// (scheduler/alternatives.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/passes/graph_rewrite.h"

namespace tcc::sched {

// Where the graph passes take alternatives: after composite ops have become primitives, before
// these are simplified and constants are folded; and when nothing is simplified any more.
enum class AlternativeStage : uint8_t { primitives, final };

// Rewrites of one node that differ in a number, such as the parts of its sums. The rewrite is a
// function of the node alone: it serves every node of the same op, attributes and types.
struct Alternative {
  std::string_view kind;    // of the plan site (scheduler/plan.h)
  std::string description;  // of the plan site, for people
  // The earlier of those between which estimates do not decide. `none` is among them unless the
  // node cannot stay as it is: no kernel computes it, or with too much rounding.
  std::vector<int64_t> choices;
  int64_t none = 1;  // leaves the node as it is
  // The share of the device, at most 1, that the node's own kernels occupy: with others, the rest
  // is all that there is to gain.
  double occupied = 0;
  // The share of the node's time that is left at most where the default is another than `none`.
  double clear = 0.8;
  bool keeps_whole() const { return std::ranges::find(choices, none) != choices.end(); }

  std::function<ir::Replacement(ir::Builder&, const ir::Node&, int64_t choice)> rewrite;
};

}  // namespace tcc::sched
