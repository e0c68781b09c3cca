#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "api/context_impl.h"
#include "executable/kernel_sizes.h"
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

}  // namespace

namespace {

// The caller's allocator as the runtime calls it.
runtime::Allocate memory_by(const runtime::Program& program,
                            const std::function<DeviceBuffer(std::int64_t)>& allocate) {
  if (!allocate) return {};
  return [&program, allocate](std::int64_t bytes) -> runtime::StateMemory {
    constexpr std::uint64_t kGrain = 256;
    const DeviceBuffer memory = allocate(bytes);
    if (memory.bytes() < bytes || memory.address() % kGrain != 0)
      fail_input("the caller's allocator gave ", memory.bytes(), " bytes at address ",
                 memory.address(), " where ", bytes, " were asked for, at a multiple of ", kGrain);
    if (memory.device() != program.device().name())
      fail_input("the caller's allocator gave memory of ", memory.device(),
                 "; the graph was compiled for ", program.device().name());
    return DeviceAccess::memory_of(memory);
  };
}

}  // namespace

Context::Impl::~Impl() {
  if (!has_callers_memory) return;
  try {
    stream->synchronize();
  } catch (const std::exception&) {
    // The device is lost, and says so at its next use.
  }
}

Context::Impl::Impl(const CompiledGraph& compiled, std::shared_ptr<StreamOwner> on,
                    const exec::Dims& dims,
                    const std::function<DeviceBuffer(std::int64_t)>& allocate)
    : program(compiled.impl().program),
      owner(std::move(on)),
      stream(owner->stream),
      has_callers_memory(allocate != nullptr),
      context(program, stream->stream, dims, memory_by(*program, allocate)) {
  context.call_through([this](const std::function<void()>& call) { use->apart(call); });
}

void Context::Impl::take(std::span<const void* const> in, std::span<void* const> out) {
  if (!program->device().takes_foreign_addresses())
    fail_input(program->device().name(),
               ": this device cannot use memory that it did not allocate; pass DeviceBuffers");
  check_counts(executable(), in.size(), out.size());
  inputs.clear();
  outputs.clear();
  for (size_t i = 0; i < in.size(); ++i)
    inputs.push_back(address_of(in[i], buffer_of(executable(), executable().inputs, i)));
  for (size_t i = 0; i < out.size(); ++i)
    outputs.push_back(address_of(out[i], buffer_of(executable(), executable().outputs, i)));
  check_apart_from_states();
}

const exec::Sizes& Context::Impl::sizes_of(const exec::BufferInfo& buffer) const {
  static const exec::Sizes none;
  return std::ranges::all_of(buffer.shape, &ir::SymInt::is_const) ? none : context.sizes();
}

bool Context::Impl::may_be_counted(const exec::BufferInfo& buffer) const {
  return buffer.kind == exec::BufferInfo::Kind::output && context.reads_sizes();
}

std::vector<std::int64_t> Context::Impl::shape_of(const exec::BufferInfo& buffer) const {
  if (may_be_counted(buffer))
    return context.largest_shape(static_cast<size_t>(buffer.offset.value()));
  return sizes_of(buffer).of(buffer.shape);
}

std::int64_t Context::Impl::bytes_of(const exec::BufferInfo& buffer) const {
  if (may_be_counted(buffer))
    return tensor_bytes(buffer.dtype, shape_of(buffer)).value_or(Tensor::max_bytes);
  return sizes_of(buffer).of(buffer.bytes);  // allocates nothing
}

runtime::DeviceAddress Context::Impl::place_of(const DeviceBuffer& memory,
                                               const exec::BufferInfo& buffer,
                                               std::string_view kind) const {
  const std::int64_t bytes = bytes_of(buffer);
  if (memory.bytes() != bytes)
    fail_input(kind, " '", buffer.name, "': a device buffer of ", memory.bytes(), " bytes; ",
               type_text(buffer.dtype, shape_of(buffer)), " takes ", bytes);
  if (bytes > 0 && memory.impl_->device.get() != &program->device())
    fail_input(kind, " '", buffer.name, "': a buffer of ", memory.device(),
               "; the graph was compiled for ", program->device().name());
  if (kind != "input" && bytes > 0 && memory.impl_->read_only)
    fail_input(kind, " '", buffer.name, "': its memory may only be read");
  return memory.address();
}

bool Context::Impl::overlap(const DeviceBuffer& a, const DeviceBuffer& b) {
  // Two handles of the caller's may be of one piece of memory.
  return a.bytes_ > 0 && b.bytes_ > 0 && a.impl_->device == b.impl_->device &&
         a.address() < b.address() + static_cast<std::uint64_t>(b.bytes_) &&
         b.address() < a.address() + static_cast<std::uint64_t>(a.bytes_);
}

// An output that shares bytes with another value would be written while that is read or written.
void Context::Impl::check_apart(std::span<const DeviceBuffer> in,
                                std::span<const DeviceBuffer> out) const {
  const auto refuse = [&](size_t output, std::string_view kind, const std::vector<int>& numbers,
                          size_t i) {
    fail_input("output '", buffer_of(executable(), executable().outputs, output).name,
               "' shares memory with ", kind, " '", buffer_of(executable(), numbers, i).name, "'");
  };
  for (size_t o = 0; o < out.size(); ++o) {
    for (size_t i = 0; i < in.size(); ++i)
      if (overlap(out[o], in[i])) refuse(o, "input", executable().inputs, i);
    for (size_t i = 0; i < o; ++i)
      if (overlap(out[o], out[i])) refuse(o, "output", executable().outputs, i);
  }
}

void Context::Impl::take(std::span<const DeviceBuffer> in, std::span<const DeviceBuffer> out) {
  check_counts(executable(), in.size(), out.size());
  inputs.clear();
  outputs.clear();
  for (size_t i = 0; i < in.size(); ++i)
    inputs.push_back(place_of(in[i], buffer_of(executable(), executable().inputs, i), "input"));
  for (size_t i = 0; i < out.size(); ++i)
    outputs.push_back(place_of(out[i], buffer_of(executable(), executable().outputs, i), "output"));
  check_apart(in, out);
  check_apart_from_states();
}

// A state is read and written while inputs are read and outputs written.
void Context::Impl::check_apart_from_states() const {
  const auto check = [&](std::string_view kind, const std::vector<int>& numbers,
                         const std::vector<runtime::DeviceAddress>& addresses) {
    for (size_t i = 0; i < addresses.size(); ++i) {
      const exec::BufferInfo& buffer = buffer_of(executable(), numbers, i);
      const auto bytes = static_cast<std::uint64_t>(bytes_of(buffer));
      for (const auto& [number, memory] : bound) {
        const std::uint64_t begin = memory.address();
        if (bytes > 0 && addresses[i] < begin + static_cast<std::uint64_t>(memory.bytes_) &&
            begin < addresses[i] + bytes)
          fail_input(kind, " '", buffer.name, "' shares memory with state '",
                     state_buffer(number).name, "'");
      }
    }
  };
  check("input", executable().inputs, inputs);
  check("output", executable().outputs, outputs);
}

const DeviceBuffer& Context::Impl::memory_of(const DeviceTensor& tensor,
                                             const exec::BufferInfo& buffer,
                                             std::string_view kind) const {
  if (const std::vector<int64_t> shape = shape_of(buffer);
      tensor.dtype() != name(buffer.dtype) || tensor.shape() != shape)
    fail_input(kind, " '", buffer.name, "' is ", type_text(buffer.dtype, shape), ", not ",
               type_text(*parse_dtype(tensor.dtype()), tensor.shape()));
  return tensor.memory();
}

std::vector<DeviceBuffer> Context::Impl::memory_of(std::span<const DeviceTensor> tensors,
                                                   const std::vector<int>& buffers,
                                                   std::string_view kind) const {
  std::vector<DeviceBuffer> memory;
  for (size_t i = 0; i < tensors.size(); ++i)
    memory.push_back(memory_of(tensors[i], buffer_of(executable(), buffers, i), kind));
  return memory;
}

DeviceBuffer Context::Impl::bind_state(std::string_view name, const DeviceBuffer& memory,
                                       std::optional<std::int64_t> length) {
  const size_t number = state_number(name);
  place_of(memory, state_buffer(number), "state");
  if (memory.bytes_ == 0) return {};
  for (const auto& [other, taken] : bound)
    if (other != number && overlap(memory, taken))
      fail_input("state '", name, "' shares memory with state '", state_buffer(other).name, "'");
  context.bind_state(number, DeviceAccess::memory_of(memory), length);
  return std::exchange(bound[number], memory);
}

std::vector<NamedType> Context::Impl::state_types() const {
  std::vector<NamedType> types;
  for (size_t i = 0; i < executable().states.size(); ++i) {
    const exec::BufferInfo& buffer = state_buffer(i);
    const bool is_fixed =
        std::ranges::all_of(buffer.shape, [](const ir::SymInt& dim) { return dim.is_const(); });
    if (!is_fixed) context.sizes();  // which makes the state
    types.push_back({buffer.name, {buffer.dtype, context.state_shape(i)}});
  }
  return types;
}

namespace {

std::shared_ptr<StreamOwner> stream_of_its_own(const CompiledGraph& compiled) {
  return std::make_shared<StreamOwner>(compiled.impl().program->device().create_stream(), false);
}

}  // namespace

Context::Context(const CompiledGraph& compiled)
    : impl_(new Impl(compiled, stream_of_its_own(compiled))) {}

Context::Context(const CompiledGraph& compiled, const std::map<std::string, std::int64_t>& dims)
    : impl_(new Impl(compiled, stream_of_its_own(compiled), {dims.begin(), dims.end()})) {}

Context::Context(const CompiledGraph& compiled, void* stream)
    : impl_(new Impl(compiled, std::make_shared<StreamOwner>(
                                   compiled.impl().program->device().wrap_stream(stream), true))) {}

Context::Context(const CompiledGraph& compiled, const ContextOptions& options)
    : impl_(new Impl(compiled,
                     options.stream
                         ? std::make_shared<StreamOwner>(
                               compiled.impl().program->device().wrap_stream(*options.stream), true)
                         : stream_of_its_own(compiled),
                     {options.dims.begin(), options.dims.end()}, options.allocate)) {}

Context::Context(const CompiledGraph& compiled, const Context& other,
                 const std::map<std::string, std::int64_t>& dims) {
  const runtime::Device& device = compiled.impl().program->device();
  if (&device != &other.impl_->program->device())
    fail_input("a graph of ", device.name(), " cannot run on a stream of ",
               other.impl_->program->device().name());
  const std::lock_guard lock(other.impl_->stream->mutex);
  impl_.reset(new Impl(compiled, other.impl_->owner, {dims.begin(), dims.end()}));
}

Context::~Context() = default;
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

void Context::set_shapes(std::span<const std::span<const std::int64_t>> inputs) {
  const Impl::Use use(*impl_);
  impl_->context.set_shapes(inputs);
}

void Context::set_shapes(const std::vector<std::vector<std::int64_t>>& inputs) {
  const std::vector<exec::ShapeView> views(inputs.begin(), inputs.end());
  set_shapes(views);
}

void Context::set_dims(const std::map<std::string, std::int64_t>& dims) {
  const Impl::Use use(*impl_);
  impl_->context.set_dims({dims.begin(), dims.end()});
}

void Context::reserve_dims(const std::map<std::string, std::int64_t>& dims) {
  const Impl::Use use(*impl_);
  impl_->context.reserve_dims({dims.begin(), dims.end()});
}

std::map<std::string, std::int64_t> Context::dims() const {
  const std::span<const int64_t> sizes = impl_->context.dims();
  std::map<std::string, std::int64_t> result;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] >= 0) result[impl_->executable().dims[i].name] = sizes[i];
  return result;
}

std::vector<TensorSpec> Context::inputs() const {
  return specs_of(*impl_->program, impl_->executable().inputs, &impl_->context.sizes());
}

std::vector<TensorSpec> Context::outputs() const {
  return specs_of(*impl_->program, impl_->executable().outputs, &impl_->context.sizes());
}

std::vector<TensorSpec> Context::largest_outputs() const {
  std::vector<TensorSpec> specs = outputs();
  for (size_t i = 0; i < specs.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(impl_->executable(), impl_->executable().outputs, i);
    specs[i].shape = impl_->shape_of(buffer);
    specs[i].bytes = impl_->bytes_of(buffer);
  }
  return specs;
}

std::vector<HostTensor> Context::run(std::span<const HostTensor> inputs) {
  std::vector<const HostTensor*> pointers;
  for (const HostTensor& input : inputs) pointers.push_back(&input);
  return impl_->run(pointers);
}

// Shapes with open dims are checked by who takes the sizes from them.
void Context::Impl::check_type(const exec::BufferInfo& buffer, const HostTensor& given) const {
  if (!executable().dims.empty()) {
    if (given.dtype != name(buffer.dtype))
      fail_input("input '", buffer.name, "' is ", name(buffer.dtype), ", not ", given.dtype);
    return;
  }
  if (const std::vector<int64_t> shape = context.sizes().of(buffer.shape);
      given.dtype != name(buffer.dtype) || given.shape != shape)
    fail_input("input '", buffer.name, "' is ", type_text(buffer.dtype, shape), ", not ",
               type_of(given));
}

std::vector<HostTensor> Context::Impl::run(const std::vector<const HostTensor*>& given) {
  check_counts(executable(), given.size(), executable().outputs.size());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < given.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(executable(), executable().inputs, i);
    check_type(buffer, *given[i]);
    tensors.push_back(to_tensor(*given[i], str("input '", buffer.name, "'")));
  }
  const Use holds(*this);
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
  for (size_t i = 0; i < outputs.size(); ++i)
    impl_->check_pointer(outputs[i], buffer_of(executable, executable.outputs, i));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const exec::BufferInfo& buffer = buffer_of(executable, executable.inputs, i);
    Tensor& tensor = tensors.emplace_back(buffer.dtype, impl_->context.sizes().of(buffer.shape));
    if (tensor.bytes() == 0) continue;
    impl_->check_pointer(inputs[i], buffer);
    std::memcpy(tensor.data(), inputs[i], tensor.bytes());
  }
  const Impl::Use use(*impl_);
  const std::vector<Tensor> results = impl_->context.run(tensors);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].bytes() > 0) std::memcpy(outputs[i], results[i].data(), results[i].bytes());
}

void Context::run_device(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const Impl::Use use(*impl_);
  impl_->take(inputs, outputs);
  impl_->context.run(impl_->inputs, impl_->outputs);
}

void Context::run_device(std::span<const DeviceBuffer> inputs,
                         std::span<const DeviceBuffer> outputs) {
  Impl::Use use(*impl_);
  impl_->take(inputs, outputs);
  use.order([&](const auto& visit) {
    for (const DeviceBuffer& input : inputs) visit(input, false);
    for (const DeviceBuffer& output : outputs) visit(output, true);
  });
  impl_->context.run(impl_->inputs, impl_->outputs);
}

void Context::run_device(std::span<const DeviceTensor> inputs,
                         std::span<const DeviceTensor> outputs) {
  const exec::Executable& executable = impl_->executable();
  check_counts(executable, inputs.size(), outputs.size());
  if (!executable.dims.empty()) {
    std::vector<exec::ShapeView> shapes;
    for (const DeviceTensor& input : inputs) shapes.emplace_back(input.shape());
    set_shapes(shapes);
  }
  run_device(impl_->memory_of(inputs, executable.inputs, "input"),
             impl_->memory_of(outputs, executable.outputs, "output"));
}

void Context::run_device_named(const std::map<std::string, DeviceTensor>& inputs,
                               const std::map<std::string, DeviceTensor>& outputs) {
  const exec::Executable& executable = impl_->executable();
  run_device(in_order(executable, executable.inputs, "input", inputs),
             in_order(executable, executable.outputs, "output", outputs));
}

void Context::run_device_named(const std::map<std::string, DeviceBuffer>& inputs,
                               const std::map<std::string, DeviceBuffer>& outputs) {
  const exec::Executable& executable = impl_->executable();
  run_device(in_order(executable, executable.inputs, "input", inputs),
             in_order(executable, executable.outputs, "output", outputs));
}

void Context::run_device_named(const std::map<std::string, const void*>& inputs,
                               const std::map<std::string, void*>& outputs) {
  const exec::Executable& executable = impl_->executable();
  run_device(in_order(executable, executable.inputs, "input", inputs),
             in_order(executable, executable.outputs, "output", outputs));
}

void Context::reserve(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const Impl::Use use(*impl_);
  impl_->take(inputs, outputs);
  impl_->context.reserve(impl_->inputs, impl_->outputs);
}

void Context::reserve(std::span<const DeviceBuffer> inputs, std::span<const DeviceBuffer> outputs) {
  const Impl::Use use(*impl_);
  impl_->take(inputs, outputs);
  impl_->context.reserve(impl_->inputs, impl_->outputs);
}

std::vector<TensorSpec> Context::states() const {
  const bool has_sizes =
      std::ranges::find(impl_->context.dims(), -1) == impl_->context.dims().end() &&
      std::ranges::none_of(impl_->executable().states, &exec::StateInfo::grows);
  std::vector<TensorSpec> specs =
      specs_of(*impl_->program, exec::state_buffers(impl_->executable()),
               has_sizes ? &impl_->context.sizes() : nullptr);
  for (size_t i = 0; i < specs.size(); ++i)
    if (impl_->executable().states[i].grows()) {
      specs[i].shape = impl_->context.state_shape(i);
      specs[i].bytes = *tensor_bytes(impl_->state_buffer(i).dtype, impl_->context.state_shape(i));
    }
  return specs;
}

HostTensor Context::state(std::string_view name) {
  const Impl::Use use(*impl_);
  return to_host(impl_->context.state(impl_->state_number(name)));
}

void Context::set_state(std::string_view name, const HostTensor& value) {
  const Impl::Use use(*impl_);
  const size_t number = impl_->state_number(name);
  impl_->context.set_state(number, to_tensor(value, str("state '", name, "'")));
}

void Context::save_states(const std::filesystem::path& file) {
  const Impl::Use use(*impl_);
  tcc::save_states(file, impl_->state_types(),
                   [&](size_t number) { return impl_->context.state(number); });
}

void Context::load_states(const std::filesystem::path& file) {
  const Impl::Use use(*impl_);
  tcc::load_states(
      file, impl_->state_types(),
      [&](size_t number, const TensorInfo& info) {
        return impl_->context.fits_state(number, info.dtype, info.shape);
      },
      [&](size_t number, const Tensor& value) { impl_->context.set_state(number, value); });
}

void Context::bind_state(std::string_view name, const DeviceBuffer& memory,
                         std::optional<std::int64_t> length) {
  DeviceBuffer before;  // it may wait for the stream when it goes
  const Impl::Use use(*impl_);
  before = impl_->bind_state(name, memory, length);
}

void Context::bind_state(std::string_view name, const DeviceTensor& tensor,
                         std::optional<std::int64_t> length) {
  const size_t number = impl_->state_number(name);
  bind_state(name, impl_->memory_of(tensor, impl_->state_buffer(number), "state"), length);
}

void Context::reset_states() {
  const Impl::Use use(*impl_);
  impl_->context.reset_states();
}

double Context::time(int replays) {
  if (replays < 1) fail_input("a time of ", replays, " replays; at least 1 is needed");
  const Impl::Use use(*impl_);
  return impl_->context.time_replay(replays);
}

namespace {

// The values of the kernels of the program at hand, which may be a variant, as kernels() has them;
// those of the others are 0.
template <class T>
std::vector<T> among_all(const runtime::Program& whole, const runtime::Program& at_hand,
                         const std::vector<T>& values) {
  std::vector<T> all(whole.executable().kernels.size());
  size_t first = 0;
  for (const auto& variant : whole.variants()) {
    if (variant.program.get() == &at_hand) first = all.size();
    all.resize(all.size() + variant.program->executable().kernels.size());
  }
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(first));
  return all;
}

}  // namespace

std::vector<double> Context::time_kernels() {
  const Impl::Use use(*impl_);
  const std::vector<double> steps = impl_->context.time_steps();
  const runtime::Program& at_hand = impl_->context.program_at_hand();
  const exec::Executable& executable = at_hand.executable();
  std::vector<double> seconds(executable.kernels.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (const auto* launch = std::get_if<exec::KernelLaunch>(&executable.steps[i]))
      seconds[static_cast<size_t>(launch->kernel)] += steps[i];
  const std::vector<int> counts = exec::launch_counts(executable, impl_->context.step_counts());
  for (size_t i = 0; i < seconds.size(); ++i)
    if (counts[i] > 0) seconds[i] /= counts[i];
  return among_all(*impl_->program, at_hand, seconds);
}

std::vector<int> Context::kernel_launches() {
  const Impl::Use use(*impl_);
  const runtime::Program& at_hand = impl_->context.program_at_hand();
  return among_all(*impl_->program, at_hand,
                   exec::launch_counts(at_hand.executable(), impl_->context.step_counts()));
}

void Context::with_stream(const std::function<void(void*)>& use) {
  if (!impl_->program->device().gives_streams())
    fail_input(impl_->program->device().name(), ": this device has no stream for the caller");
  const Impl::Use holds(*impl_);
  impl_->stream->stream->give(use);
}

void Context::synchronize() { impl_->stream->synchronize(); }

}  // namespace tcc
