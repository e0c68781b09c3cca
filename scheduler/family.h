// The family of a region: its canonical text (scheduler/region_text.h) with the sizes left out. Regions of one family differ in
// sizes alone, so that a config that was measured for one of them may serve another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/region.h"

namespace tcc::sched {

struct Family {
  std::string key;               // 32 digits: the hash of the region's text without sizes
  std::vector<int64_t> extents;  // as many, and in the same places, for all regions of a family
};
Family family_of(const Region& region);

}  // namespace tcc::sched
