#include "runtime/program.h"

#include <algorithm>

#include "runtime/binding.h"
#include "support/bytes_text.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::runtime {

using sched::BufferInfo;

namespace {

// This checks the device's whole memory: a program that cannot fit should not begin to load.
void check_memory(const Device& device, const sched::Executable& executable) {
  int64_t constants = 0;
  for (const sched::ConstantBuffer& constant : executable.constants) constants += constant.bytes;
  const int64_t memory = device.memory_bytes();
  if (constants <= memory && executable.arena_bytes <= memory - constants) return;
  fail_device(device.name(), ": out of memory: ", executable.name, " needs ", bytes_text(constants),
              " for weights and ", bytes_text(executable.arena_bytes),
              " for intermediate values; the device has ", bytes_text(memory));
}

}  // namespace

Program::Program(std::shared_ptr<Device> device, sched::Executable executable, const Watch* watch)
    : device_(std::move(device)), executable_(std::move(executable)) {
  check_memory(*device_, executable_);
  const size_t total = executable_.kernels.size() + executable_.constants.size();
  size_t done = 0;
  const auto tell = [&] {
    if (watch) watch->at("load", done++, total);
  };
  for (const sched::KernelBinary& binary : executable_.kernels) {
    tell();
    kernels_.push_back(device_->load(binary));
  }
  std::unique_ptr<Stream> stream = device_->create_stream();
  for (const sched::ConstantBuffer& constant : executable_.constants) {
    tell();
    constants_.push_back(device_->allocate(std::max<int64_t>(constant.bytes, 1)));
    std::vector<std::byte> bytes = (*constant.make)();
    TCC_CHECK(static_cast<int64_t>(bytes.size()) == constant.bytes, constant.name);
    if (!bytes.empty()) stream->copy_to_device(*constants_.back(), 0, bytes);
    constant_bytes_ += constant.bytes;
  }
  tell();
}

Context::Context(std::shared_ptr<const Program> program, std::unique_ptr<Stream> stream)
    : program_(std::move(program)), stream_(std::move(stream)) {
  if (!stream_) stream_ = program_->device().create_stream();
  int64_t bytes = program_->executable().arena_bytes;
  if (bytes > 0) arena_ = program_->device().allocate(bytes);
  callers_ = std::make_unique<Binding>(*program_, arena_ ? arena_->address() : 0);
}

Context::~Context() = default;

void Context::check_counts(std::span<const DeviceAddress> inputs,
                           std::span<const DeviceAddress> outputs) const {
  const sched::Executable& executable = program_->executable();
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
  stream_->run(callers_->bind(inputs, outputs));
}

void Context::make_own_buffers() {
  if (recording_) return;
  const sched::Executable& executable = program_->executable();
  std::vector<DeviceAddress> inputs, outputs;
  auto make = [&](const std::vector<int>& numbers, std::vector<DeviceAddress>& addresses) {
    for (int number : numbers) {
      own_.push_back(program_->device().allocate(
          std::max<int64_t>(executable.buffers[static_cast<size_t>(number)].bytes, 1)));
      addresses.push_back(own_.back()->address());
    }
  };
  make(executable.inputs, inputs);
  make(executable.outputs, outputs);
  Binding binding(*program_, arena_ ? arena_->address() : 0);
  const std::span<const BoundLaunch> bound = binding.bind(inputs, outputs);
  launches_.assign(bound.begin(), bound.end());
  recording_ = program_->device().record(launches_);
}

void Context::set_inputs(std::span<const Tensor> inputs) {
  make_own_buffers();
  const sched::Executable& executable = program_->executable();
  if (inputs.size() != executable.inputs.size())
    fail_input("the graph has ", counted(executable.inputs.size(), "input"), ", not ",
               inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.inputs[i])];
    const Tensor& tensor = inputs[i];
    if (tensor.dtype() != buffer.dtype)
      fail_input("input '", buffer.name, "' is ", name(buffer.dtype), ", not ",
                 name(tensor.dtype()));
    if (tensor.shape() != buffer.shape)
      fail_input("input '", buffer.name, "' has another shape than the graph was compiled for");
    if (tensor.bytes() > 0) stream_->copy_to_device(*own_[i], 0, {tensor.data(), tensor.bytes()});
  }
}

void Context::replay() {
  make_own_buffers();
  stream_->run(*recording_);
}

std::vector<Tensor> Context::outputs() {
  stream_->synchronize();
  const sched::Executable& executable = program_->executable();
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < executable.outputs.size(); ++i) {
    const BufferInfo& buffer = executable.buffers[static_cast<size_t>(executable.outputs[i])];
    Tensor tensor(buffer.dtype, buffer.shape);
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

void Context::run_launch(size_t i) {
  make_own_buffers();
  stream_->run(std::span(launches_).subspan(i, 1));
  stream_->synchronize();
}

std::vector<std::byte> Context::read(int buffer) {
  make_own_buffers();
  const sched::Executable& executable = program_->executable();
  const BufferInfo& info = executable.buffers[static_cast<size_t>(buffer)];
  TCC_CHECK(info.kind != BufferInfo::Kind::constant, info.name, " is a constant");
  std::vector<std::byte> bytes(static_cast<size_t>(info.bytes));
  if (bytes.empty()) return bytes;
  if (info.kind == BufferInfo::Kind::arena) {
    stream_->copy_to_host(bytes, *arena_, info.offset);
  } else {
    const size_t first = info.kind == BufferInfo::Kind::input ? 0 : executable.inputs.size();
    stream_->copy_to_host(bytes, *own_[first + static_cast<size_t>(info.offset)], 0);
  }
  return bytes;
}

std::vector<double> Context::time_launches() {
  make_own_buffers();
  return stream_->time_each(launches_);
}

double Context::time_replay(int repeat) {
  make_own_buffers();
  return stream_->time(*recording_, repeat);
}

}  // namespace tcc::runtime
