#include "runtime/binding.h"

#include "support/error.h"

namespace tcc::runtime {

using sched::BufferInfo;

Binding::Binding(const Program& program, DeviceAddress arena)
    : program_(program),
      arena_(arena),
      inputs_(values_of(program.executable().inputs)),
      outputs_(values_of(program.executable().outputs)) {}

std::vector<Binding::Value> Binding::values_of(const std::vector<int>& buffers) const {
  const sched::Executable& executable = program_.executable();
  std::vector<Value> values;
  for (const int number : buffers) {
    Value& value = values.emplace_back();
    value.buffer = &executable.buffers[static_cast<size_t>(number)];
    value.alignment = static_cast<uint64_t>(sched::assumed_alignment(executable, number));
  }
  return values;
}

bool Binding::is_aligned(const Value& value, DeviceAddress address) {
  return value.buffer->bytes == 0 || address % value.alignment == 0;
}

const BufferInfo* Binding::lacking(std::span<const DeviceAddress> inputs,
                                   std::span<const DeviceAddress> outputs) const {
  const BufferInfo* first = nullptr;
  auto look = [&](const std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_aligned(values[i], addresses[i])) continue;
      const BufferInfo& buffer = *values[i].buffer;
      const int element = size_bytes(buffer.dtype);
      if (addresses[i] % static_cast<uint64_t>(element) != 0)
        fail_input("'", buffer.name, "': the pointer is not aligned to its elements of ", element,
                   " bytes");
      if (!values[i].staging && !first) first = &buffer;
    }
  };
  look(inputs_, inputs);
  look(outputs_, outputs);
  return first;
}

void Binding::reserve(std::span<const DeviceAddress> inputs,
                      std::span<const DeviceAddress> outputs) {
  auto make = [&](std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i].staging && !is_aligned(values[i], addresses[i]))
        values[i].staging = program_.device().allocate(values[i].buffer->bytes);
  };
  make(inputs_, inputs);
  make(outputs_, outputs);
}

bool Binding::place(std::vector<Value>& values, std::span<const DeviceAddress> addresses) {
  bool changed = false;
  for (size_t i = 0; i < values.size(); ++i) {
    Value& value = values[i];
    const bool staged = !is_aligned(value, addresses[i]);
    TCC_CHECK(!staged || value.staging, value.buffer->name, " lacks a staging buffer");
    changed |= staged != value.staged;
    value.staged = staged;
    value.address = staged ? value.staging->address() : addresses[i];
  }
  return changed;
}

DeviceAddress Binding::address_of(const BufferInfo& buffer) const {
  const auto at = static_cast<size_t>(buffer.offset);
  switch (buffer.kind) {
    case BufferInfo::Kind::input: return inputs_[at].address;
    case BufferInfo::Kind::output: return outputs_[at].address;
    case BufferInfo::Kind::constant: return program_.constant(buffer.offset);
    case BufferInfo::Kind::arena: return arena_ != 0 ? arena_ + at : 0;
  }
  return 0;
}

// All but the addresses.
void Binding::make_launches() {
  launches_.clear();
  auto add_copies = [&](const std::vector<Value>& values) {
    for (const Value& value : values)
      if (value.staged) launches_.push_back(copy_launch(0, 0, value.buffer->bytes));
  };
  add_copies(inputs_);
  for (const sched::Launch& launch : program_.executable().launches)
    launches_.push_back(
        {&program_.kernel(launch.kernel), std::vector<DeviceAddress>(launch.buffers.size()), 0});
  add_copies(outputs_);
  made_ = true;
}

std::span<const BoundLaunch> Binding::bind(std::span<const DeviceAddress> inputs,
                                           std::span<const DeviceAddress> outputs) {
  const bool changed_inputs = place(inputs_, inputs), changed_outputs = place(outputs_, outputs);
  if (!made_ || changed_inputs || changed_outputs) make_launches();
  const sched::Executable& executable = program_.executable();
  auto next = launches_.begin();
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].staged) next++->arguments = {inputs_[i].address, inputs[i]};
  for (const sched::Launch& launch : executable.launches) {
    for (size_t k = 0; k < launch.buffers.size(); ++k)
      next->arguments[k] = address_of(executable.buffers[static_cast<size_t>(launch.buffers[k])]);
    ++next;
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].staged) next++->arguments = {outputs[i], outputs_[i].address};
  return launches_;
}

}  // namespace tcc::runtime
