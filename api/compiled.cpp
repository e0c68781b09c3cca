#include "api/impl.h"
#include "api/names.h"
#include "executable/kernel_sizes.h"
#include "support/hash.h"

namespace tcc {

std::string_view version() { return TCC_VERSION; }

std::vector<TensorSpec> specs_of(const runtime::Program& program, const std::vector<int>& buffers,
                                 const exec::Sizes* sizes) {
  const exec::Executable& executable = program.executable();
  const auto number = [&](const ir::SymInt& size) {
    return sizes ? sizes->of(size) : size.is_const() ? size.value() : -1;
  };
  std::vector<TensorSpec> specs;
  for (const int i : buffers) {
    const exec::BufferInfo& buffer = executable.buffers[static_cast<size_t>(i)];
    std::vector<int64_t> shape;
    for (const ir::SymInt& dim : buffer.shape) shape.push_back(number(dim));
    specs.push_back({buffer.name, std::string(name(buffer.dtype)), std::move(shape),
                     number(buffer.bytes), program.alignments()[static_cast<size_t>(i)]});
  }
  return specs;
}

std::string CompiledGraph::device() const { return impl_->program->device().name(); }

std::vector<TensorSpec> CompiledGraph::inputs() const {
  const exec::Executable& executable = impl_->program->executable();
  return specs_of(*impl_->program, executable.inputs);
}

std::vector<TensorSpec> CompiledGraph::outputs() const {
  const exec::Executable& executable = impl_->program->executable();
  return specs_of(*impl_->program, executable.outputs);
}

std::vector<std::string> CompiledGraph::open_dims() const {
  std::vector<std::string> names;
  for (const exec::OpenDim& dim : impl_->program->executable().dims) names.push_back(dim.name);
  return names;
}

std::vector<DimRange> CompiledGraph::dim_ranges() const {
  std::vector<DimRange> ranges;
  for (const auto& [name, range] : impl_->program->executable().dims)
    ranges.push_back({name, range.least, range.most, range.multiple});
  return ranges;
}

std::vector<TensorSpec> CompiledGraph::states() const {
  const exec::Executable& executable = impl_->program->executable();
  return specs_of(*impl_->program, exec::state_buffers(executable));
}

std::size_t CompiledGraph::input_index(std::string_view name) const {
  const exec::Executable& executable = impl_->program->executable();
  return index_of(executable, executable.inputs, "input", name);
}

std::size_t CompiledGraph::output_index(std::string_view name) const {
  const exec::Executable& executable = impl_->program->executable();
  return index_of(executable, executable.outputs, "output", name);
}

std::int64_t CompiledGraph::launches() const {
  return exec::count_usual_launches(impl_->program->executable());
}

std::int64_t CompiledGraph::arena_bytes() const {
  return impl_->program->executable().arena_bytes.usual();
}

std::int64_t CompiledGraph::constant_bytes() const { return impl_->program->constant_bytes(); }

namespace {

std::vector<SizeChoice> sizes_of(const exec::Executable& executable, size_t kernel) {
  std::vector<SizeChoice> all;
  for (const exec::Chosen& chosen : exec::choices_of(executable, kernel)) {
    SizeChoice one{chosen.table, chosen.choice, {}, exec::sizes_text(executable, chosen)};
    for (const std::vector<exec::DimBounds>& bounds : exec::bounds_of(executable, chosen)) {
      std::vector<DimBounds>& range = one.ranges.emplace_back();
      for (const auto& [size, least, most] : bounds) range.push_back({size, least, most});
    }
    all.push_back(std::move(one));
  }
  return all;
}

void add_reports(const exec::Executable& executable, const std::string& variant,
                 std::vector<KernelReport>& reports) {
  for (size_t i = 0; i < executable.kernels.size(); ++i) {
    const exec::KernelBinary& kernel = executable.kernels[i];
    reports.push_back(
        {kernel.region, kernel.template_name, kernel.config, kernel.tier,
         exec::most_launches(executable, i), kernel.flops, kernel.bytes,
         executable.target.least_seconds(kernel.bytes, kernel.flops, kernel.flop_rate),
         exec::layers_of(executable, i), kernel.region_key, hash_of(kernel.source).hex(), variant,
         sizes_of(executable, i)});
  }
}

}  // namespace

std::vector<KernelReport> CompiledGraph::kernels() const {
  std::vector<KernelReport> reports;
  add_reports(impl_->program->executable(), "", reports);
  for (const auto& [sizes, program] : impl_->program->variants()) {
    std::string name;
    for (const auto& [dim, size] : sizes) name += str(name.empty() ? "" : " ", dim, "=", size);
    add_reports(program->executable(), name, reports);
  }
  return reports;
}

const std::string& CompiledGraph::kernel_source(std::size_t kernel) const {
  const runtime::Program& program = *impl_->program;
  size_t total = program.executable().kernels.size();
  if (kernel < total) return program.executable().kernels[kernel].source;
  for (const auto& variant : program.variants()) {
    const auto& kernels = variant.program->executable().kernels;
    if (kernel - total < kernels.size()) return kernels[kernel - total].source;
    total += kernels.size();
  }
  fail_input("kernel ", kernel, " of ", total);
}

}  // namespace tcc
