// Collects the choices that compiling a graph asks for.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/plan.h"

namespace tcc::autotune {

using SiteKey = std::pair<std::string, std::string>;  // kind, key

inline SiteKey key_of(const sched::PlanSite& site) { return {site.kind, site.key}; }

// Answers as `source` does, which must outlive it, and keeps the sites in the order of their first
// question.
class SiteRecorder : public sched::PlanSource {
 public:
  explicit SiteRecorder(const sched::PlanSource& source) : source_(source) {}

  int64_t choose(const sched::PlanSite& site, const sched::Target& target) const override;

  // Returns the sites. To be called when no thread asks for a choice any more.
  const std::vector<sched::PlanSite>& sites() const { return sites_; }

 private:
  const sched::PlanSource& source_;
  mutable std::mutex mutex_;
  mutable std::set<SiteKey> seen_;
  mutable std::vector<sched::PlanSite> sites_;
};

// Returns whether shard `index` of `count` compares the site's alternatives: by kind and key, so
// that it is the same on every machine.
bool in_shard(const sched::PlanSite& site, int index, int count);

}  // namespace tcc::autotune
