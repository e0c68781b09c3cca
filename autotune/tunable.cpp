#include "autotune/tunable.h"

#include <algorithm>

#include "autotune/tune.h"
#include "scheduler/family.h"

namespace tcc::autotune {

Tunable tunable_of(const TuningTask& task, const sched::Target& target,
                   const backends::CompileOptions& options) {
  const sched::Region& region = *task.region;
  const sched::Template& kernel_template = *task.kernel_template;
  Tunable tunable;
  tunable.key = task.key;
  tunable.name = region.name();
  tunable.operands = operands_text(region);
  tunable.output = ir::to_string(region.outputs.at(0)->type);
  const sched::Family family = sched::family_of(region);
  tunable.family = family.key;
  tunable.extents = family.extents;
  tunable.space = kernel_template.space(region, target);
  tunable.environment = environment_of(tunable.space, target);
  tunable.default_config = kernel_template.default_config(region, target);
  tunable.launches = task.launches;
  const sched::Kernel kernel = kernel_template.lower(region, tunable.default_config, target);
  tunable.flops = kernel.flops;
  tunable.bytes = kernel.bytes;
  tunable.bound_seconds = target.least_seconds(tunable.bytes, tunable.flops, kernel.flop_rate);
  tunable.compile = [&region, &kernel_template, target, options](const sched::Config& config) {
    return backends::compile_region(region, kernel_template, config, target, options);
  };
  tunable.estimate = kernel_template.cost_model(region, target);
  tunable.choose = [&region, &kernel_template, target](const RecordStore& records) {
    return records.choose(kernel_template, region, target);
  };
  tunable.job = [&region](uint64_t seed) { return bench_job(region, seed); };
  return tunable;
}

}  // namespace tcc::autotune
