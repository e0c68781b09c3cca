#include "runtime/program.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "runtime/binding.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/log.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::runtime {

using exec::BufferInfo;

namespace {

// This checks the device's whole memory: a program that cannot fit should not begin to load.
void check_memory(Device& device, const exec::Executable& executable) {
  const int64_t constants = device.constants().missing_bytes(executable);
  const int64_t arena = executable.arena_bytes.is_const() ? executable.arena_bytes.value() : 0;
  const int64_t memory = device.memory_bytes();
  if (constants <= memory && arena <= memory - constants) return;
  fail_device(device.name(), ": out of memory: ", executable.name, " needs ", bytes_text(constants),
              " for weights and ", bytes_text(arena), " for intermediate values; the device has ",
              bytes_text(memory));
}

double host_seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_kind(const Device& device, const exec::Executable& executable) {
  if (executable.target.api != device.target().api)
    fail_device(device.name(), ": ", executable.name, " was compiled for ", executable.target.id());
  if (executable.symbols.empty()) exec::check_loops(executable, {}, device.target());
}

// An executable may be older than a quirk of the device.
void tell_switched_off(const exec::Target& target, const exec::Executable& executable) {
  for (const exec::KernelBinary& kernel : executable.kernels)
    if (const std::string reason = target.why_off(kernel.template_name); !reason.empty())
      log_warning(LogChannel::device, executable.name, ": kernel ", kernel.entry, " is of ",
                  kernel.template_name, ", ", reason, ": compile the graph again");
}

void check_functions(const HostFunctions& functions, const exec::Executable& executable,
                     const Device& device) {
  for (const exec::Step& step : executable.steps)
    if (const auto* call = std::get_if<exec::HostCall>(&step)) {
      const auto found = functions.find(call->function);
      if (found == functions.end() || (!found->second.run && !found->second.run_on_device))
        fail_input(executable.name, " calls the host's function '", call->function,
                   "', which is not registered: Program takes functions by name");
      if (!found->second.run && !device.gives_streams())
        fail_input(executable.name, " calls '", call->function,
                   "', which runs on device memory and on a stream alone; ", device.name(),
                   " has no stream for it: give the function a form for host memory (`run`), too");
    }
}

}  // namespace

Program::Program(std::shared_ptr<Device> device, exec::Executable executable, const Watch* watch,
                 HostFunctions functions)
    : device_(std::move(device)),
      executable_(std::move(executable)),
      functions_(std::move(functions)) {
  check_kind(*device_, executable_);
  check_functions(functions_, executable_, *device_);
  check_memory(*device_, executable_);
  const size_t total = executable_.kernels.size() + executable_.constants.size();
  size_t done = 0;
  const auto tell = [&] {
    if (watch) watch->at("load", done++, total);
  };
  tell_switched_off(device_->target(), executable_);
  for (const exec::KernelBinary& binary : executable_.kernels) {
    tell();
    kernels_.push_back(device_->load(binary));
  }
  std::unique_ptr<Stream> stream = device_->create_stream();
  for (size_t i = 0; i < executable_.constants.size(); ++i) {
    tell();
    constants_.push_back(device_->constants().get(*device_, *stream, executable_, i));
    constant_bytes_ += executable_.constants[i].bytes;
  }
  tell();
}

Context::Context(std::shared_ptr<const Program> program, std::shared_ptr<Stream> stream,
                 exec::Sizes sizes)
    : program_(std::move(program)), stream_(std::move(stream)) {
  memory_.sizes = std::move(sizes);
  Device& device = program_->device();
  const exec::Executable& executable = program_->executable();
  if (!stream_) stream_ = device.create_stream();
  if (!executable.symbols.empty() || !memory_.sizes.values.empty()) {
    exec::check(executable, memory_.sizes);
    exec::check_loops(executable, memory_.sizes, device.target());
  }
  const int64_t bytes = memory_.sizes.of(executable.arena_bytes);
  if (bytes > 0) memory_.arena = device.allocate(bytes);
  for (size_t i = 0; i < executable.buffers.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[i];
    if (buffer.alias >= 0 || buffer.kind != BufferInfo::Kind::state) continue;
    memory_.states[i] = {device.allocate(std::max<int64_t>(memory_.sizes.of(buffer.bytes), 1))};
  }
  reset_states();
  callers_ = std::make_unique<Binding>(*program_, memory_);
}

Context::~Context() = default;

void Context::check_counts(std::span<const DeviceAddress> inputs,
                           std::span<const DeviceAddress> outputs) const {
  const exec::Executable& executable = program_->executable();
  if (inputs.size() != executable.inputs.size() || outputs.size() != executable.outputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), " and ",
               counted(executable.outputs.size(), "output"), ", not ", inputs.size(), " and ",
               outputs.size());
}

void Context::reserve(std::span<const DeviceAddress> inputs,
                      std::span<const DeviceAddress> outputs) {
  check_counts(inputs, outputs);
  if (const BufferInfo* value = callers_->lacking(inputs, outputs)) {
    if (stream_->is_capturing())
      fail_input("'", value->name,
                 "': the pointer is not aligned as kernels assume, and memory for an aligned copy "
                 "cannot be reserved while the stream is captured");
    callers_->reserve(inputs, outputs);
  }
}

void Context::run(std::span<const DeviceAddress> inputs, std::span<const DeviceAddress> outputs) {
  reserve(inputs, outputs);
  const std::span<const BoundStep> steps = callers_->bind(inputs, outputs);
  if (!callers_->calls().empty() && stream_->is_capturing())
    for (const HostCallSite& call : callers_->calls())
      if (!call.may_be_captured())
        fail_input(program_->executable().name, " calls the host's function '", call.name(),
                   "', which a captured stream cannot: it does not say that it may be captured");
  callers_->each_part([&](size_t begin, size_t end, HostCallSite* call) {
    if (begin < end) stream_->run(steps.subspan(begin, end - begin));
    if (call) call->run(*stream_, through_);
  });
}

void Context::make_own_buffers() {
  if (own_binding_) return;
  const exec::Executable& executable = program_->executable();
  if (own_.empty()) {
    std::vector<std::unique_ptr<Buffer>> made;
    for (const std::vector<int>* numbers : {&executable.inputs, &executable.outputs})
      for (const int number : *numbers)
        made.push_back(program_->device().allocate(std::max<int64_t>(
            memory_.sizes.of(executable.buffers[static_cast<size_t>(number)].bytes), 1)));
    own_ = std::move(made);
  }
  std::vector<DeviceAddress> inputs, outputs;
  for (const auto& buffer : own_)
    (inputs.size() < executable.inputs.size() ? inputs : outputs).push_back(buffer->address());
  auto binding = std::make_unique<Binding>(*program_, memory_);
  steps_ = binding->bind(inputs, outputs);
  recorded_.clear();
  binding->each_part([&](size_t begin, size_t end, HostCallSite* call) {
    recorded_.push_back({program_->device().record(steps_.subspan(begin, end - begin)), call});
  });
  own_binding_ = std::move(binding);
}

void Context::set_inputs(std::span<const Tensor> inputs) {
  make_own_buffers();
  const exec::Executable& executable = program_->executable();
  if (inputs.size() != executable.inputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), ", not ",
               inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.inputs[i])];
    const Tensor& tensor = inputs[i];
    if (tensor.dtype() != buffer.dtype)
      fail_input("input '", buffer.name, "' is ", name(buffer.dtype), ", not ",
                 name(tensor.dtype()));
    if (tensor.shape() != memory_.sizes.of(buffer.shape))
      fail_input("input '", buffer.name, "' has another shape than the graph was compiled for");
    if (tensor.bytes() > 0) stream_->copy_to_device(*own_[i], 0, {tensor.data(), tensor.bytes()});
  }
}

void Context::replay() {
  make_own_buffers();
  for (const Recorded& part : recorded_) {
    stream_->run(*part.recording);
    if (part.call) part.call->run(*stream_, through_);
  }
}

std::vector<Tensor> Context::outputs() {
  stream_->synchronize();
  const exec::Executable& executable = program_->executable();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < executable.outputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.outputs[i])];
    Tensor tensor(buffer.dtype, memory_.sizes.of(buffer.shape));
    if (tensor.bytes() > 0)
      stream_->copy_to_host({tensor.data(), tensor.bytes()}, *own_[executable.inputs.size() + i],
                            0);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<Tensor> Context::run(std::span<const Tensor> inputs) {
  set_inputs(inputs);
  replay();
  return outputs();
}

const BufferInfo& Context::state_buffer(size_t i) const {
  const exec::Executable& executable = program_->executable();
  if (i >= executable.states.size())
    fail_input("state ", i, " of ", counted(executable.states.size(), "state"));
  return executable.buffers[static_cast<size_t>(executable.states[i].buffer)];
}

const StateMemory& Context::state_memory(size_t i) const {
  return memory_.states.at(static_cast<size_t>(program_->executable().states[i].buffer));
}

void Context::bind_state(size_t i, StateMemory memory) {
  const BufferInfo& buffer = state_buffer(i);
  const auto number = static_cast<size_t>(program_->executable().states[i].buffer);
  const int alignment = exec::assumed_alignments(program_->executable())[number];
  if (memory.address() % static_cast<uint64_t>(alignment) != 0)
    fail_input("state '", buffer.name, "': its place in device memory is no multiple of ",
               alignment, " bytes, as kernels assume");
  stream_->synchronize();
  // The recording has the old address.
  recorded_.clear();
  steps_ = {};
  own_binding_.reset();
  memory_.states.at(number) = std::move(memory);
}

Tensor Context::state(size_t i) {
  const BufferInfo& buffer = state_buffer(i);
  stream_->synchronize();
  Tensor value(buffer.dtype, memory_.sizes.of(buffer.shape));
  const StateMemory& memory = state_memory(i);
  if (value.bytes() > 0)
    stream_->copy_to_host({value.data(), value.bytes()}, *memory.buffer, memory.offset);
  return value;
}

void Context::set_state(size_t i, const Tensor& value) {
  const BufferInfo& buffer = state_buffer(i);
  if (const std::vector<int64_t> shape = memory_.sizes.of(buffer.shape);
      value.dtype() != buffer.dtype || value.shape() != shape)
    fail_input("state '", buffer.name, "' is ", type_text(buffer.dtype, shape), ", not ",
               type_text(value.dtype(), value.shape()));
  stream_->synchronize();
  const StateMemory& memory = state_memory(i);
  if (value.bytes() > 0)
    stream_->copy_to_device(*memory.buffer, memory.offset, {value.data(), value.bytes()});
}

void Context::reset_states() {
  const exec::Executable& executable = program_->executable();
  for (size_t i = 0; i < executable.states.size(); ++i) {
    const int64_t bytes = memory_.sizes.of(state_buffer(i).bytes);
    if (bytes == 0) continue;
    if (const int initial = executable.states[i].initial; initial >= 0) {
      const BoundStep copy = BoundCopy{state_memory(i).address(),
                                       program_->constant(static_cast<size_t>(initial)), bytes};
      stream_->run({&copy, 1});
    } else {
      stream_->fill(*state_memory(i).buffer, state_memory(i).offset, bytes, 0);
    }
  }
}

void Context::run_step(size_t i) {
  make_own_buffers();
  const Binding::StepRange& step = own_binding_->range(i);
  stream_->run(steps_.subspan(step.begin, step.middle - step.begin));
  if (step.call) {
    step.call->run(*stream_, through_);
    stream_->run(steps_.subspan(step.middle, step.end - step.middle));
  }
  stream_->synchronize();
}

std::vector<std::byte> Context::read(int buffer) {
  make_own_buffers();
  const exec::Executable& executable = program_->executable();
  const BufferInfo& info = executable.buffers[static_cast<size_t>(buffer)];
  TCC_CHECK(info.kind != BufferInfo::Kind::constant, info.name, " is a constant");
  std::vector<std::byte> bytes(static_cast<size_t>(memory_.sizes.of(info.bytes)));
  if (bytes.empty()) return bytes;
  TCC_CHECK(info.alias < 0, info.name, " lies in another buffer");
  if (info.is_in_arena()) {
    stream_->copy_to_host(bytes, *memory_.arena, memory_.sizes.of(info.offset));
  } else if (const auto state = memory_.states.find(static_cast<size_t>(buffer));
             state != memory_.states.end()) {
    stream_->copy_to_host(bytes, *state->second.buffer, state->second.offset);
  } else {
    const size_t first = info.kind == BufferInfo::Kind::input ? 0 : executable.inputs.size();
    stream_->copy_to_host(bytes, *own_[first + static_cast<size_t>(info.offset.value())], 0);
  }
  return bytes;
}

std::vector<double> Context::time_steps() {
  make_own_buffers();
  std::vector<double> seconds;
  for (size_t i = 0, count = program_->executable().steps.size(); i < count;) {
    const Binding::StepRange& first = own_binding_->range(i);
    if (first.call) {
      seconds.push_back(host_seconds([&] { run_step(i); }));
      ++i;
      continue;
    }
    const size_t begin = first.begin;
    size_t end = begin;
    for (; i < count && !own_binding_->range(i).call; ++i) end = own_binding_->range(i).end;
    const std::vector<double> some = stream_->time_each(steps_.subspan(begin, end - begin));
    seconds.insert(seconds.end(), some.begin(), some.end());
  }
  return seconds;
}

double Context::time_replay(int repeat) {
  make_own_buffers();
  if (own_binding_->calls().empty()) return stream_->time(*recorded_.at(0).recording, repeat);
  stream_->synchronize();
  return host_seconds([&] {
           for (int i = 0; i < repeat; ++i) replay();
           stream_->synchronize();
         }) /
         repeat;
}

}  // namespace tcc::runtime
