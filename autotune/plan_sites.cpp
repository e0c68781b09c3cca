#include "autotune/plan_sites.h"

#include "support/error.h"
#include "support/hash.h"

namespace tcc::autotune {

int64_t SiteRecorder::choose(const sched::PlanSite& site, const sched::Target& target) const {
  {
    std::lock_guard lock(mutex_);
    if (seen_.insert(key_of(site)).second) sites_.push_back(site);
  }
  return source_.choose(site, target);
}

bool in_shard(const sched::PlanSite& site, int index, int count) {
  TCC_CHECK(index >= 0 && index < count, "shard ", index, " of ", count);
  const uint64_t hash = Hasher().add(site.kind).add(site.key).digest().low;
  return hash % static_cast<uint64_t>(count) == static_cast<uint64_t>(index);
}

}  // namespace tcc::autotune
