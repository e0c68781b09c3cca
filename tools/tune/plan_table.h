// Prints the comparisons of a search of plans.
#pragma once

#include <string>

#include "autotune/plan_search.h"

namespace tcc::tools {

// A line: "split_k matmul of 24 x 40 x 4096 f32: parts of K: 1 = 30.0 us, 2 = 20.1 us -> 2". Where
// the incumbent stays although another was faster, but not clearly, it says "within noise".
std::string comparison_text(const autotune::PlanComparison& comparison);

// All sites, then the gain of the chosen plan over today's (of a shard: how many there were).
std::string plan_table(const autotune::PlanSearchResult& result);

}  // namespace tcc::tools
