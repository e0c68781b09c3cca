#include "autotune/tunable.h"

#include <algorithm>

#include "autotune/tune.h"
#include "scheduler/family.h"

namespace tcc::autotune {

namespace {

// The kernels at these sizes.
exec::StandaloneSequence at_sizes(exec::StandaloneSequence sequence, const exec::Sizes& sizes) {
  for (auto& [kernel, buffers, times] : sequence.launches) {
    for (ir::SymInt& side : kernel.grid) side = sizes.of(side);
    for (exec::Scalar& scalar : kernel.scalars) scalar.value = sizes.of(scalar.value);
    for (exec::TensorMap& map : kernel.maps) map = sizes.fixed(std::move(map));
    kernel.loop_iterations = sizes.of(kernel.loop_iterations);
    times = sizes.of(times);
  }
  for (exec::Workspace& workspace : sequence.workspaces)
    workspace.elements = sizes.of(workspace.elements);
  return sequence;
}

}  // namespace

Tunable tunable_of(const TuningTask& task, const backends::CompileOptions& options) {
  const sched::Candidate& candidate = *task.candidate;
  // With numbers for sizes.
  const sched::Region& region = task.sized ? task.sized->region : candidate.region();
  const sched::Target& target = candidate.target();
  Tunable tunable;
  tunable.key = task.key;
  tunable.name = region.name();
  tunable.operands = operands_text(region);
  tunable.output = ir::to_string(region.outputs.at(0)->type);
  const sched::Family family = sched::family_of(candidate.region());
  tunable.family = family.key;
  tunable.extents = family.extents;
  tunable.space = candidate.space();
  tunable.environment = environment_of(tunable.space, target);
  tunable.default_config = candidate.default_config();
  tunable.launches = task.launches;
  if (task.sized) tunable.sizes = task.sized->sizes;
  tunable.share = 1.0 / static_cast<double>(task.tasks_of_region);
  // Scratch memory and its traffic are the config's own matter: the bound is that of the longest of
  // the kernels.
  for (const auto& [kernel, buffers, times] : candidate.lower(tunable.default_config).launches) {
    const auto launches = static_cast<double>(times.usual());
    tunable.flops += launches * kernel.flops.usual();
    tunable.bytes += launches * kernel.bytes.usual();
    tunable.bound_seconds = std::max(
        tunable.bound_seconds,
        target.least_seconds(kernel.bytes.usual(), kernel.flops.usual(), kernel.flop_rate));
  }
  const exec::Sizes sizes = task.sized ? task.sized->numbers : exec::Sizes();
  // The task has the graph of a region with open dims.
  const std::shared_ptr<const sched::SizedKernel> owner = task.sized;
  tunable.compile = [&candidate, options, sizes, owner](const sched::Config& config) {
    return at_sizes(backends::compile_region(candidate, config, options), sizes);
  };
  tunable.estimate = candidate.cost_model();
  tunable.choose = [&candidate, owner](const RecordStore& records) {
    return records.choose(candidate);
  };
  tunable.job = [&region, owner](uint64_t seed) { return bench_job(region, seed); };
  return tunable;
}

}  // namespace tcc::autotune
