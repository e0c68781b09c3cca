#include "autotune/user_kernel/user_tunable.h"

#include "autotune/user_kernel/graph_check.h"
#include "ir/tensor.h"
#include "support/error.h"

namespace tcc::autotune {
namespace {

constexpr int kVersion = 1;  // of what a kernel file's config means

BenchJob job_of(const BoundKernel& kernel, uint64_t seed) {
  BenchJob job;
  job.name = kernel.kernel().name;
  job.seed = seed;
  job.combined = kernel.terms();
  for (const BoundArgument& input : kernel.inputs()) {
    const KernelArgument& declared = *input.declared;
    job.inputs.push_back({declared.dtype, input.elements, declared.low, declared.high,
                          declared.int_low, declared.int_high});
  }
  for (const BoundArgument& output : kernel.outputs())
    job.outputs.push_back({output.declared->dtype, output.elements});
  if (kernel.kernel().check.kind == KernelCheck::Kind::graph) add_graph_reference(kernel, job);
  return job;
}

std::vector<int64_t> extents_of(const BoundKernel& kernel) {
  std::vector<int64_t> extents;
  for (const auto& [name, value] : kernel.dims()) extents.push_back(value);
  return extents;
}

// The kernel that `kernel`'s check names, on the same arguments. Its own check is not looked at.
BoundKernel checking_kernel(const BoundKernel& kernel) {
  const KernelCheck& check = kernel.kernel().check;
  UserKernel other = load_user_kernel(check.file);
  Dims dims;
  for (const auto& [name, value] : other.dims)
    if (const auto known = kernel.dims().find(name); known != kernel.dims().end())
      dims[name] = known->second;
  BoundKernel bound(std::move(other), dims, kernel.target());
  if (bound.operands_text() != kernel.operands_text())
    fail_input(check.place, ": ", check.file.string(),
               " has other arguments: ", bound.operands_text(), " instead of ",
               kernel.operands_text());
  return bound;
}

// This gives the expected outputs, when that is not the default config.
std::function<exec::StandaloneSequence()> expected_of(const BoundKernel& kernel,
                                                      const backends::CompileOptions& options) {
  const KernelCheck& check = kernel.kernel().check;
  if (check.kind == KernelCheck::Kind::graph) return {};
  const BoundKernel by = check.kind == KernelCheck::Kind::kernel ? checking_kernel(kernel) : kernel;
  const sched::Config config = check.config.value_or(by.kernel().default_config);
  if (std::string reason = by.space().violation(config); !reason.empty())
    fail_input(check.place, ": config ", config.to_string(), ": ", reason);
  if (check.kind == KernelCheck::Kind::config && config == kernel.kernel().default_config)
    return {};
  return [by, config, options] { return by.compile(config, options); };
}

exec::BufferInfo buffer_of(const BoundArgument& argument, exec::BufferInfo::Kind kind,
                           size_t number) {
  exec::BufferInfo info;
  info.kind = kind;
  info.name = argument.declared->name;
  info.dtype = argument.declared->dtype;
  info.shape.assign(argument.shape.begin(), argument.shape.end());
  info.strides = ir::row_major_strides(info.shape);
  info.bytes = argument.elements * size_bytes(info.dtype);
  info.offset = static_cast<int64_t>(number);
  return info;
}

}  // namespace

RecordKey key_of(const BoundKernel& kernel) {
  return {"user:" + kernel.kernel().name, kVersion, kernel.region(), kernel.target().id()};
}

Tunable tunable_of(const UserKernel& kernel, const sched::Target& target,
                   const backends::CompileOptions& options) {
  const BoundKernel bound(kernel, options.dims, target);
  Tunable tunable;
  tunable.key = key_of(bound);
  tunable.name = kernel.name;
  tunable.operands = bound.operands_text();
  const BoundArgument& output = bound.outputs().front();
  tunable.output = type_text(output.declared->dtype, output.shape);
  tunable.family = bound.family();
  tunable.extents = extents_of(bound);
  tunable.space = bound.space();
  // Constraints that cannot be evaluated are found now, not in the middle of a search.
  tunable.space.enumerate([](const sched::Config&) { return true; });
  tunable.environment = environment_of(tunable.space, target);
  tunable.default_config = kernel.default_config;
  tunable.flops = bound.flops();
  tunable.bytes = bound.bytes();
  // Operations give no bound, since it is not known whether FMA units or matrix units do them. Nor
  // do arguments that the kernel may read in part.
  if (kernel.bytes) tunable.bound_seconds = tunable.bytes / target.bandwidth;
  tunable.compile = [bound, options](const sched::Config& config) {
    return bound.compile(config, options);
  };
  tunable.job = [bound](uint64_t seed) { return job_of(bound, seed); };
  tunable.choose = [bound](const RecordStore& records) { return autotune::choose(records, bound); };
  tunable.expected = expected_of(bound, options);
  return tunable;
}

sched::ConfigChoice choose(const RecordStore& records, const BoundKernel& kernel) {
  const sched::ConfigSpace space = kernel.space();
  Query query{.key = key_of(kernel),
              .family = kernel.family(),
              .extents = extents_of(kernel),
              .environment = environment_of(space, kernel.target()),
              .tcc = tcc_version(),
              .space = &space};
  const Found found = records.find(query);
  if (!found.record) return {kernel.kernel().default_config, sched::Tier::analytic};
  return {found.config, found.tier};
}

exec::Executable executable_of(const BoundKernel& kernel, const sched::ConfigChoice& choice,
                               const backends::CompileOptions& options) {
  using Kind = exec::BufferInfo::Kind;
  exec::Executable executable;
  executable.name = kernel.kernel().name;
  executable.target = kernel.target();
  exec::StandaloneKernel compiled = kernel.compile(choice.config, options);
  compiled.tier = sched::name(choice.tier);
  exec::KernelLaunch launch;
  launch.grid = compiled.grid;
  launch.flops = compiled.flops;
  launch.bytes = compiled.bytes;
  executable.kernels.push_back(std::move(compiled));
  const auto add = [&](const std::vector<BoundArgument>& arguments, Kind kind,
                       std::vector<int>& list) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const int number = static_cast<int>(executable.buffers.size());
      executable.buffers.push_back(buffer_of(arguments[i], kind, i));
      list.push_back(number);
      launch.arguments.emplace_back(exec::Address{number});
    }
  };
  add(kernel.inputs(), Kind::input, executable.inputs);
  add(kernel.outputs(), Kind::output, executable.outputs);
  executable.steps.emplace_back(std::move(launch));
  return executable;
}

}  // namespace tcc::autotune
