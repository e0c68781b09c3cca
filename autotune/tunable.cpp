#include "autotune/tunable.h"

#include <algorithm>

#include "autotune/tune.h"
#include "scheduler/family.h"

namespace tcc::autotune {

Tunable tunable_of(const TuningTask& task, const backends::CompileOptions& options) {
  const sched::Candidate& candidate = *task.candidate;
  const sched::Region& region = candidate.region();
  const sched::Target& target = candidate.target();
  Tunable tunable;
  tunable.key = task.key;
  tunable.name = region.name();
  tunable.operands = operands_text(region);
  tunable.output = ir::to_string(region.outputs.at(0)->type);
  const sched::Family family = sched::family_of(region);
  tunable.family = family.key;
  tunable.extents = family.extents;
  tunable.space = candidate.space();
  tunable.environment = environment_of(tunable.space, target);
  tunable.default_config = candidate.default_config();
  tunable.launches = task.launches;
  // Scratch memory and its traffic are the config's own matter: the bound is that of the longest of
  // the kernels.
  for (const auto& [kernel, buffers, times] : candidate.lower(tunable.default_config).launches) {
    tunable.flops += times * kernel.flops;
    tunable.bytes += times * kernel.bytes;
    tunable.bound_seconds = std::max(
        tunable.bound_seconds, target.least_seconds(kernel.bytes, kernel.flops, kernel.flop_rate));
  }
  tunable.compile = [&candidate, options](const sched::Config& config) {
    return backends::compile_region(candidate, config, options);
  };
  tunable.estimate = candidate.cost_model();
  tunable.choose = [&candidate](const RecordStore& records) { return records.choose(candidate); };
  tunable.job = [&region](uint64_t seed) { return bench_job(region, seed); };
  return tunable;
}

}  // namespace tcc::autotune
