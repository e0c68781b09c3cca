#include <cstring>

#include "api/impl.h"
#include "api/names.h"
#include "support/plural.h"

namespace tcc {
namespace {

const exec::BufferInfo& buffer_of(const exec::Executable& executable,
                                  const std::vector<int>& numbers, size_t i) {
  return executable.buffers[static_cast<size_t>(numbers[i])];
}

void check_counts(const exec::Executable& executable, size_t inputs, size_t outputs) {
  if (inputs != executable.inputs.size() || outputs != executable.outputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), " and ",
               counted(executable.outputs.size(), "output"), ", not ", inputs, " and ", outputs);
}

std::string type_of(const HostTensor& tensor) {
  std::string text;
  for (const int64_t dim : tensor.shape) text += str(text.empty() ? "" : ", ", dim);
  return tensor.dtype + "[" + text + "]";
}

bool is_empty(const exec::BufferInfo& buffer) { return buffer.bytes.is(0); }

runtime::DeviceAddress address_of(const void* pointer, const exec::BufferInfo& buffer) {
  const auto address = reinterpret_cast<runtime::DeviceAddress>(pointer);
  if (!pointer && !is_empty(buffer)) fail_input("'", buffer.name, "': a null pointer");
  return address;
}

}  // namespace

struct Context::Impl {
  std::shared_ptr<const runtime::Program> program;
  runtime::Context context;
  std::vector<runtime::DeviceAddress> inputs, outputs;  // reused, see take()

  const exec::Executable& executable() const { return program->executable(); }
  size_t state_number(std::string_view name) const {
    return index_of(executable(), exec::state_buffers(executable()), "state", name);
  }
  void take(std::span<const void* const> in, std::span<void* const> out);
  std::vector<HostTensor> run(const std::vector<const HostTensor*>& given);
};

void Context::Impl::take(std::span<const void* const> in, std::span<void* const> out) {
  if (executable().target.api == sched::Api::vulkan)
    fail_input(program->device().name(),
               ": a Vulkan device cannot use memory that it did not allocate");
  check_counts(executable(), in.size(), out.size());
  inputs.clear();
  outputs.clear();
  for (size_t i = 0; i < in.size(); ++i)
    inputs.push_back(address_of(in[i], buffer_of(executable(), executable().inputs, i)));
  for (size_t i = 0; i < out.size(); ++i)
    outputs.push_back(address_of(out[i], buffer_of(executable(), executable().outputs, i)));
}

Context::Context(const CompiledGraph& compiled)
    : impl_(new Impl{compiled.impl().program, runtime::Context(compiled.impl().program), {}, {}}) {}

Context::Context(const CompiledGraph& compiled, const std::map<std::string, std::int64_t>& dims)
    : impl_(
          new Impl{compiled.impl().program,
                   runtime::Context(compiled.impl().program, nullptr, {{dims.begin(), dims.end()}}),
                   {},
                   {}}) {}

Context::Context(const CompiledGraph& compiled, void* stream)
    : impl_(new Impl{compiled.impl().program,
                     runtime::Context(compiled.impl().program,
                                      compiled.impl().program->device().wrap_stream(stream)),
                     {},
                     {}}) {}

Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

std::vector<HostTensor> Context::run(std::span<const HostTensor> inputs) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& input : inputs) pointers.push_back(&input);
  return impl_->run(pointers);
}

std::vector<HostTensor> Context::Impl::run(const std::vector<const HostTensor*>& given) {
  check_counts(executable(), given.size(), executable().outputs.size());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < given.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(executable(), executable().inputs, i);
    if (const std::vector<int64_t> shape = context.sizes().of(buffer.shape);
        given[i]->dtype != name(buffer.dtype) || given[i]->shape != shape)
      fail_input("input '", buffer.name, "' is ", type_text(buffer.dtype, shape), ", not ",
                 type_of(*given[i]));
    tensors.push_back(to_tensor(*given[i], str("input '", buffer.name, "'")));
  }
  std::vector<HostTensor> results;
  for (const Tensor& output : context.run(tensors)) results.push_back(to_host(output));
  return results;
}

std::map<std::string, HostTensor> Context::run_named(
    const std::map<std::string, HostTensor>& inputs) {
  const exec::Executable& executable = impl_->executable();
  std::map<std::string, const HostTensor*> pointers;
  for (const auto& [name, tensor] : inputs) pointers[name] = &tensor;
  std::vector<HostTensor> results =
      impl_->run(in_order(executable, executable.inputs, "input", pointers));
  std::map<std::string, HostTensor> outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs[buffer_of(executable, executable.outputs, i).name] = std::move(results[i]);
  return outputs;
}

void Context::run_host(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const exec::Executable& executable = impl_->executable();
  check_counts(executable, inputs.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(executable, executable.outputs, i);
    if (!outputs[i] && !is_empty(buffer)) fail_input("'", buffer.name, "': a null pointer");
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(executable, executable.inputs, i);
    Tensor& tensor = tensors.emplace_back(buffer.dtype, impl_->context.sizes().of(buffer.shape));
    if (tensor.bytes() == 0) continue;
    if (!inputs[i]) fail_input("'", buffer.name, "': a null pointer");
    std::memcpy(tensor.data(), inputs[i], tensor.bytes());
  }
  const std::vector<Tensor> results = impl_->context.run(tensors);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].bytes() > 0) std::memcpy(outputs[i], results[i].data(), results[i].bytes());
}

void Context::run_device(std::span<const void* const> inputs, std::span<void* const> outputs) {
  impl_->take(inputs, outputs);
  impl_->context.run(impl_->inputs, impl_->outputs);
}

void Context::run_device_named(const std::map<std::string, const void*>& inputs,
                               const std::map<std::string, void*>& outputs) {
  const exec::Executable& executable = impl_->executable();
  run_device(in_order(executable, executable.inputs, "input", inputs),
             in_order(executable, executable.outputs, "output", outputs));
}

void Context::reserve(std::span<const void* const> inputs, std::span<void* const> outputs) {
  impl_->take(inputs, outputs);
  impl_->context.reserve(impl_->inputs, impl_->outputs);
}

HostTensor Context::state(std::string_view name) {
  return to_host(impl_->context.state(impl_->state_number(name)));
}

void Context::set_state(std::string_view name, const HostTensor& value) {
  const size_t number = impl_->state_number(name);
  impl_->context.set_state(number, to_tensor(value, str("state '", name, "'")));
}

void Context::reset_states() { impl_->context.reset_states(); }

double Context::time(int replays) {
  if (replays < 1) fail_input("a time of ", replays, " replays; at least 1 is needed");
  return impl_->context.time_replay(replays);
}

std::vector<double> Context::time_kernels() {
  const exec::Executable& executable = impl_->program->executable();
  const std::vector<double> steps = impl_->context.time_steps();
  std::vector<double> seconds(executable.kernels.size());
  std::vector<int> counts(executable.kernels.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* launch = std::get_if<exec::KernelLaunch>(&executable.steps[i]);
    if (!launch) continue;
    const auto kernel = static_cast<size_t>(launch->kernel);
    seconds[kernel] += steps[i];
    ++counts[kernel];
  }
  for (size_t i = 0; i < seconds.size(); ++i)
    if (counts[i] > 0) seconds[i] /= counts[i];
  return seconds;
}

void Context::synchronize() { impl_->context.stream().synchronize(); }

}  // namespace tcc
