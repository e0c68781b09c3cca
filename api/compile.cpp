#include <iostream>

#include "api/impl.h"
#include "autotune/records.h"
#include "backends/pipeline.h"
#include "ir/passes/convert_precision.h"
#include "ir/reference/interpreter.h"

namespace tcc {
namespace {

backends::MatmulPrecision parse_precision(const std::string& text) {
  if (const auto precision = backends::parse_matmul_precision(text)) return *precision;
  fail_input("matmul_precision '", text, "': must be highest, high or medium");
}

std::map<std::string, int64_t, std::less<>> bindings(const CompileOptions& options) {
  return {options.dims.begin(), options.dims.end()};
}

std::vector<TensorSpec> specs_of(const sched::Executable& executable,
                                 const std::vector<int>& buffers) {
  std::vector<TensorSpec> specs;
  for (const int number : buffers) {
    const sched::BufferInfo& buffer = executable.buffers[static_cast<size_t>(number)];
    specs.push_back({buffer.name, std::string(name(buffer.dtype)), buffer.shape,
                     *tensor_bytes(buffer.dtype, buffer.shape),
                     sched::assumed_alignment(executable, number)});
  }
  return specs;
}

}  // namespace

std::filesystem::path cache_folder(bool use_cache, const std::filesystem::path& folder) {
  if (!use_cache) return {};
  return folder.empty() ? backends::default_cache_folder() : folder;
}

std::optional<DType> parse_dtype_option(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto dtype = parse_dtype(text);
  if (!dtype || !ir::is_precision(*dtype))
    fail_input("dtype '", text, "': must be f32, f16, bf16 or f64");
  return dtype;
}

namespace {

std::function<void(const std::string&)> warn_of(const CompileOptions& options) {
  const auto print = [](const std::string& warning) {
    std::cerr << "tcc: warning: " << warning << "\n";
  };
  return options.warn ? options.warn : print;
}

}  // namespace

autotune::RecordStore load_tuning(const CompileOptions& options) {
  std::error_code error;
  for (const std::filesystem::path& path : options.tuning)
    if (!std::filesystem::exists(path, error))
      fail_input(path.string(), ": no such file or folder of tuning records");
  return autotune::load_records(options.tuning, warn_of(options));
}

autotune::PlanStore load_plans(const CompileOptions& options) {
  return autotune::load_plans(options.tuning, warn_of(options));
}

CompiledGraph compile(const Graph& graph, std::string_view device_name,
                      const CompileOptions& options) {
  backends::CompileOptions inner;
  inner.dims = bindings(options);
  inner.dtype = parse_dtype_option(options.dtype);
  inner.matmul_precision = parse_precision(options.matmul_precision);
  inner.strict_rounding = options.strict_rounding;
  const autotune::RecordStore records = load_tuning(options);
  const autotune::PlanStore plans = load_plans(options);
  inner.configs = &records;
  inner.plan = &plans;
  const auto device = runtime::open_device(device_name);
  backends::KernelCache cache(cache_folder(options));
  inner.cache = &cache;
  sched::Executable executable = backends::compile(graph.impl().graph, device->target(), inner);
  return CompiledGraph(std::make_shared<const CompiledGraph::Impl>(CompiledGraph::Impl{
      std::make_shared<const runtime::Program>(device, std::move(executable))}));
}

std::vector<HostTensor> run_reference(const Graph& graph, std::span<const HostTensor> inputs,
                                      const CompileOptions& options) {
  ir::Graph bound = graph.impl().graph.bind(bindings(options));
  if (const auto dtype = parse_dtype_option(options.dtype))
    bound = ir::convert_precision(bound, *dtype);
  std::vector<ir::RefTensor> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    given.push_back(ir::to_ref(to_tensor(inputs[i], str("input ", i))));
  std::vector<HostTensor> outputs;
  for (const ir::RefTensor& output : ir::interpret(bound, given, ir::RefMode::stepwise))
    outputs.push_back(to_host(ir::to_tensor(output)));
  return outputs;
}

std::string CompiledGraph::device() const { return impl_->program->device().name(); }

std::vector<TensorSpec> CompiledGraph::inputs() const {
  const sched::Executable& executable = impl_->program->executable();
  return specs_of(executable, executable.inputs);
}

std::vector<TensorSpec> CompiledGraph::outputs() const {
  const sched::Executable& executable = impl_->program->executable();
  return specs_of(executable, executable.outputs);
}

std::int64_t CompiledGraph::launches() const {
  return static_cast<std::int64_t>(impl_->program->executable().launches.size());
}

std::int64_t CompiledGraph::arena_bytes() const { return impl_->program->executable().arena_bytes; }

std::int64_t CompiledGraph::constant_bytes() const { return impl_->program->constant_bytes(); }

std::vector<KernelReport> CompiledGraph::kernels() const {
  const sched::Executable& executable = impl_->program->executable();
  std::vector<KernelReport> reports;
  for (const sched::KernelBinary& kernel : executable.kernels)
    reports.push_back({kernel.region, kernel.template_name, kernel.config, kernel.tier, 0,
                       kernel.flops, kernel.bytes});
  for (const sched::Launch& launch : executable.launches)
    ++reports[static_cast<size_t>(launch.kernel)].launches;
  return reports;
}

}  // namespace tcc
