#include "scheduler/family.h"

#include "scheduler/region_text.h"
#include "support/hash.h"

namespace tcc::sched {

Family family_of(const Region& region) {
  RegionText written = region_text(region, Sizes::dropped);
  return {hash_of(written.text).hex(), std::move(written.extents)};
}

}  // namespace tcc::sched
