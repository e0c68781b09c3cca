// The family of a region: its signature with the sizes left out. Regions of one family differ in
// sizes alone, so that a config that was measured for one of them may serve another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

struct Family {
  // Ops, structural attributes, types, ranks, the order of dims in memory, wiring. Values of
  // inlined constants are left out: they often follow from sizes (1/n of a mean), and cost nothing.
  std::string text;
  // The sizes: of inputs and outputs in order, then of the results of nodes whose attributes are
  // sizes (reshape, slice, pad, ...). As many, and in the same places, for all regions of a family.
  std::vector<int64_t> extents;
};
Family family_of(const Region& region);

}  // namespace tcc::sched
