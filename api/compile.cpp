#include <algorithm>
#include <mutex>

#include "api/impl.h"
#include "api/options.h"
#include "autotune/tuning_files.h"
#include "backends/pipeline.h"
#include "ir/passes/convert_precision.h"
#include "ir/reference/interpreter.h"
#include "ir/suggest.h"
#include "scheduler/template.h"
#include "support/log.h"
#include "support/watch.h"

namespace tcc {

std::filesystem::path cache_folder(const CompileOptions& options) {
  if (!options.use_cache) return {};
  return options.cache_dir.empty() ? default_cache_folder() : options.cache_dir;
}

namespace {

// A word of TCC_LOGS that names no log, or one of TCC_TEMPLATES that names no kernel template: said
// once, since it is no reason to fail.
void check_environment() {
  static std::once_flag said;
  std::call_once(said, [] {
    for (const std::string& word : asked_logs())
      if (std::find(known_logs().begin(), known_logs().end(), word) == known_logs().end())
        log_warning(LogChannel::compile, "TCC_LOGS: no log '", word, "'",
                    ir::or_known(word, known_logs()));
    if (const std::string unknown = sched::unknown_template(); !unknown.empty())
      log_warning(LogChannel::compile, unknown);
  });
}

}  // namespace

autotune::TuningFiles load_tuning(const CompileOptions& options, sched::Api api) {
  return autotune::open_tuning_files(options.tuning, api, cache_folder(options),
                                     tuning_warn(options));
}

std::function<void(const std::string&)> tuning_warn(const CompileOptions& options) {
  if (options.warn) return options.warn;
  return [](const std::string& warning) { log_warning(LogChannel::tuning, warning); };
}

CompiledGraph compile(const Graph& graph, std::string_view device_name,
                      const CompileOptions& options) {
  backends::CompileOptions inner;
  set_kernel_options(options, inner);
  check_environment();
  const Watch watch(options.progress, options.cancelled);
  watch.check();
  inner.watch = &watch;
  const auto device = runtime::open_device(device_name);
  const autotune::TuningFiles tuning = load_tuning(options, device->target().api);
  inner.configs = &tuning;
  inner.plan = &tuning;
  backends::KernelCache cache(cache_folder(options));
  inner.cache = &cache;
  exec::Executable executable = backends::compile(graph.impl().graph, device->target(), inner);
  tuning.warn_of_illegal(tuning_warn(options));
  runtime::HostFunctions functions = host_functions(executable);
  return CompiledGraph(std::make_shared<const CompiledGraph::Impl>(
      CompiledGraph::Impl{std::make_shared<const runtime::Program>(device, std::move(executable),
                                                                   &watch, std::move(functions))}));
}

std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const CompileOptions& options) {
  backends::CompileOptions inner;
  set_kernel_options(options, inner);
  ir::Graph bound = graph.impl().graph.bind(inner.dims);
  if (inner.dtype) bound = ir::convert_precision(bound, *inner.dtype);
  std::vector<ir::RefTensor> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.push_back(ir::to_ref(to_tensor(inputs[i], str("input ", i))));
  std::vector<HostTensor> outputs;
  for (const ir::RefTensor& output : ir::interpret(bound, given, ir::RefMode::stepwise))
    outputs.push_back(to_host(ir::to_tensor(output)));
  return outputs;
}

}  // namespace tcc
