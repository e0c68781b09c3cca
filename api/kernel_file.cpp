#include "api/impl.h"
#include "autotune/tuning_files.h"
#include "autotune/user_kernel/user_tunable.h"
#include "support/watch.h"

namespace tcc {
namespace {

std::vector<ValueSpec> specs_of(const std::vector<autotune::KernelArgument>& arguments) {
  std::vector<ValueSpec> specs;
  for (const autotune::KernelArgument& argument : arguments) {
    ValueSpec& spec = specs.emplace_back();
    spec.name = argument.name;
    spec.dtype = name(argument.dtype);
    for (const autotune::Expression& dim : argument.shape) spec.shape.push_back(dim.text());
  }
  return specs;
}

}  // namespace

KernelFile KernelFile::load(const std::filesystem::path& path) {
  return KernelFile(std::make_shared<const Impl>(Impl{autotune::load_user_kernel(path)}));
}

std::string KernelFile::name() const { return impl_->kernel.name; }

std::map<std::string, std::int64_t> KernelFile::dims() const {
  return {impl_->kernel.dims.begin(), impl_->kernel.dims.end()};
}

std::vector<ValueSpec> KernelFile::inputs() const { return specs_of(impl_->kernel.inputs); }
std::vector<ValueSpec> KernelFile::outputs() const { return specs_of(impl_->kernel.outputs); }

CompiledGraph compile(const KernelFile& kernel, std::string_view device_name,
                      const CompileOptions& options) {
  if (!options.dtype.empty())
    fail_input("dtype '", options.dtype, "': a kernel file says the types of its arguments itself");
  const Watch watch(options.progress, options.cancelled);
  watch.check();
  const auto device = runtime::open_device(device_name);
  const autotune::TuningFiles tuning = load_tuning(options, device->target().api);
  const autotune::BoundKernel bound(kernel.impl().kernel,
                                    {options.dims.begin(), options.dims.end()}, device->target());
  backends::KernelCache cache(cache_folder(options));
  backends::CompileOptions inner;
  inner.cache = &cache;
  const autotune::RecordStore records = tuning.records(autotune::key_of(bound), bound.family());
  exec::Executable executable =
      autotune::executable_of(bound, autotune::choose(records, bound), inner);
  return CompiledGraph(std::make_shared<const CompiledGraph::Impl>(CompiledGraph::Impl{
      std::make_shared<const runtime::Program>(device, std::move(executable), &watch)}));
}

}  // namespace tcc
