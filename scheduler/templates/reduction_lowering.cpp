#include "scheduler/templates/reduction_lowering.h"

#include "support/checked.h"

namespace tcc::sched {
namespace {

// A kept row is read once in any case. In a cluster one exchange does for both stages, then.
bool is_walked_once(const ReductionPlan& plan, const Config& config) {
  if (!plan.online || plan.columns.is(0)) return false;
  return config["keep"] == 0 || (config["keep"] == 1 && cluster_of(config) > 1);
}

}  // namespace

int64_t cluster_of(const Config& config) { return config.has("cluster") ? config["cluster"] : 1; }

int64_t kept_vectors(const ReductionPlan& plan, const Config& config) {
  return config.has("kept_vectors") ? config["kept_vectors"] : most_vectors(plan, config);
}

int64_t most_vectors(const ReductionPlan& plan, const Config& config) {
  const int64_t columns = plan.inner ? config["vector"] : 1;
  const int64_t threads = config["row_threads"] * cluster_of(config);
  return ceil_div(ceil_div(plan.columns.range().hi, columns), threads);
}

Kernel lower_reduction(const Region& region, const ReductionPlan& plan, const Config& config,
                       const Target& target) {
  return is_walked_once(plan, config) ? lower_online(region, plan, config, target)
                                      : lower_in_stages(region, plan, config, target);
}

}  // namespace tcc::sched
