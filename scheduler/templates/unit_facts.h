// Facts of compute units that the models of matrix kernels need and no field of Target has.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/target.h"

namespace tcc::sched {

struct UnitFacts {
  double f32_lanes = 128;  // multiply-adds of f32 that a unit issues in a cycle
  // Sizes of the groups of neighbouring units that share their way to the last-level cache,
  // smallest first.
  std::vector<int64_t> groups;
};
UnitFacts unit_facts(const Target& target);

// The target's clock in Hz, by its rate of f32.
double clock_of(const Target& target);

}  // namespace tcc::sched
