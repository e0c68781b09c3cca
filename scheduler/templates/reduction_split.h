// Long reductions in parts: which numbers of parts a reduction's candidate proposes.
#pragma once

#include <optional>

#include "scheduler/alternative.h"
#include "scheduler/target.h"

namespace tcc::sched {

// The ways to cut the node's rows, or nothing: rows that are short, or open, and indices. Rows stay
// whole (the choice 1) unless one accumulator would sum so many elements that rounding shows: that
// is no matter of cost.
std::optional<Alternative> reduction_split(const ir::Node& node, const Target& target);

}  // namespace tcc::sched
