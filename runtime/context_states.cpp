// States of contexts: their memory, their values, and the lengths of those that grow.
#include <algorithm>
#include <utility>

#include "ir/tensor_rows.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/plural.h"

namespace tcc::runtime {

using exec::BufferInfo;

// The dims at hand, with the lengths that states have.
void Context::take_lengths() {
  next_dims_ = dims_;
  if (!grows_) return;
  const exec::Executable& executable = program_->executable();
  const auto first_of = [&](int dim) {
    return static_cast<size_t>(std::ranges::find(executable.states, dim, &exec::StateInfo::dim) -
                               executable.states.begin());
  };
  for (size_t i = 0; i < states_.size(); ++i) {
    const exec::StateInfo& info = executable.states[i];
    if (!info.grows()) continue;
    const exec::OpenDim& dim = executable.dims[static_cast<size_t>(info.dim)];
    const int64_t length = states_[i].length;
    const size_t first = first_of(info.dim);
    if (length != states_[first].length)
      fail_input("state '", state_buffer(i).name, "' is ", length, " long and state '",
                 state_buffer(first).name, "' ", states_[first].length, ": both are '", dim.name,
                 "'");
    if (length > dim.range.most)
      fail_input("state '", state_buffer(i).name, "' is full: it is ", length, " long, and ",
                 dim.name, " = ", dim.range.to_string());
    next_dims_[static_cast<size_t>(info.dim)] = length;
  }
}

void Context::set_length(size_t i, int64_t length) {
  states_[i].length = length;
  dims_[static_cast<size_t>(program_->executable().states[i].dim)] = length;
  plan_ = nullptr;
}

// A run has added its rows to the states.
void Context::grow() {
  if (!grows_) return;
  const exec::Sizes& sizes = plan().sizes;
  for (size_t i = 0; i < states_.size(); ++i)
    if (const exec::StateInfo& info = program_->executable().states[i]; info.grows())
      set_length(i, states_[i].length + sizes.of(info.added));
}

// The sizes when states have grown as far as they can.
exec::Sizes Context::largest(const exec::Sizes& sizes) const {
  exec::Sizes result = {sizes.values};
  const exec::Executable& executable = program_->executable();
  for (const exec::StateInfo& info : executable.states)
    if (info.grows()) {
      const exec::OpenDim& dim = executable.dims[static_cast<size_t>(info.dim)];
      result.values[dim.symbol()] = dim.range.most / dim.range.multiple;
    }
  return result;
}

void Context::make_states(const exec::Sizes& sizes) {
  for (size_t i = 0; i < states_.size(); ++i)
    if (!states_[i].memory.buffer) {
      make_state(i, sizes);
    } else if (const auto shape = sizes.of(state_buffer(i).shape); shape != states_[i].shape) {
      const BufferInfo& buffer = state_buffer(i);
      fail_input("state '", buffer.name, "' is ", type_text(buffer.dtype, states_[i].shape),
                 " in this context, and ", type_text(buffer.dtype, shape),
                 " with these sizes: they need a context of their own");
    }
}

void Context::make_state(size_t i, const exec::Sizes& sizes) {
  const BufferInfo& buffer = state_buffer(i);
  State& state = states_[i];
  refuse_while_captured("state");
  state.shape = sizes.of(buffer.shape);
  state.memory = take(sizes.of(buffer.bytes));
  reset_state(i);
}

const BufferInfo& Context::state_buffer(size_t i) const {
  const exec::Executable& executable = program_->executable();
  if (i >= executable.states.size())
    fail_input("state ", i, " of ", counted(executable.states.size(), "state"));
  return executable.buffers[static_cast<size_t>(executable.states[i].buffer)];
}

const StateMemory& Context::state_memory(size_t i) const {
  if (!states_[i].memory.buffer) plan();  // which says that sizes lack
  return states_[i].memory;
}

void Context::bind_state(size_t i, StateMemory memory, std::optional<int64_t> length) {
  const BufferInfo& buffer = state_buffer(i);
  const auto number = static_cast<size_t>(program_->executable().states[i].buffer);
  const int alignment = program_->alignments()[number];
  if (memory.address() % static_cast<uint64_t>(alignment) != 0)
    fail_input("state '", buffer.name, "': its place in device memory is no multiple of ",
               alignment, " bytes, as kernels assume");
  state_memory(i);
  const exec::StateInfo& info = program_->executable().states[i];
  if (info.grows() != length.has_value())
    fail_input("state '", buffer.name, "' ",
               length ? "does not grow: it has no length"
                      : "grows: how much of its memory counts must be given, its length");
  if (length) {
    std::vector<int64_t> shape = states_[i].shape;
    shape[static_cast<size_t>(info.axis)] = *length;
    check_state(i, buffer.dtype, shape);
  }
  stream_->synchronize();
  drop_recordings();
  states_[i].memory = std::move(memory);
  for (const auto& plan : plans_)
    plan->memory.states.at(static_cast<size_t>(plan->program->executable().states[i].buffer)) =
        states_[i].memory;
  if (length) set_length(i, *length);
}

std::vector<int64_t> Context::state_shape(size_t i) const {
  std::vector<int64_t> shape = states_[i].shape;
  if (const exec::StateInfo& info = program_->executable().states[i]; info.grows())
    shape[static_cast<size_t>(info.axis)] = states_[i].length;
  return shape;
}

Tensor Context::state(size_t i) {
  const BufferInfo& buffer = state_buffer(i);
  stream_->synchronize();
  const StateMemory& memory = state_memory(i);
  Tensor whole(buffer.dtype, states_[i].shape);
  if (whole.bytes() > 0)
    stream_->copy_to_host({whole.data(), whole.bytes()}, *memory.buffer, memory.offset);
  const exec::StateInfo& info = program_->executable().states[i];
  if (!info.grows()) return whole;
  Tensor value(buffer.dtype, state_shape(i));
  copy_rows(whole, value, info.axis);
  return value;
}

bool Context::fits_state(size_t i, DType dtype, const std::vector<int64_t>& shape) const {
  std::vector<int64_t> wanted = states_[i].shape;
  if (const exec::StateInfo& info = program_->executable().states[i];
      info.grows() && shape.size() == wanted.size()) {
    const auto axis = static_cast<size_t>(info.axis);
    const ir::SizeRange& range = program_->executable().dims[static_cast<size_t>(info.dim)].range;
    const int64_t length = shape[axis];
    if (length > wanted[axis] || length < range.least || length % range.multiple != 0) return false;
    wanted[axis] = length;
  }
  return dtype == state_buffer(i).dtype && shape == wanted;
}

void Context::check_state(size_t i, DType dtype, const std::vector<int64_t>& shape) const {
  if (fits_state(i, dtype, shape)) return;
  const BufferInfo& buffer = state_buffer(i);
  const std::vector<int64_t>& room = states_[i].shape;
  if (const exec::StateInfo& info = program_->executable().states[i];
      info.grows() && dtype == buffer.dtype && shape.size() == room.size()) {
    const auto axis = static_cast<size_t>(info.axis);
    std::vector<int64_t> as_long = room;
    as_long[axis] = shape[axis];
    const exec::OpenDim& dim = program_->executable().dims[static_cast<size_t>(info.dim)];
    if (shape == as_long)
      fail_input("state '", buffer.name, "' cannot be ", shape[axis], " long: it has room for ",
                 room[axis], ", and ", dim.name, " = ", dim.range.to_string());
  }
  fail_input("state '", buffer.name, "' is ", type_text(buffer.dtype, state_shape(i)), ", not ",
             type_text(dtype, shape));
}

void Context::set_state(size_t i, const Tensor& value) {
  const BufferInfo& buffer = state_buffer(i);
  const StateMemory& memory = state_memory(i);
  check_state(i, value.dtype(), value.shape());
  const exec::StateInfo& info = program_->executable().states[i];
  Tensor whole;
  if (info.grows()) {
    whole = Tensor(buffer.dtype, states_[i].shape);
    copy_rows(value, whole, info.axis);
  }
  const Tensor& stored = info.grows() ? whole : value;
  stream_->synchronize();
  if (stored.bytes() > 0)
    stream_->copy_to_device(*memory.buffer, memory.offset, {stored.data(), stored.bytes()});
  if (info.grows()) set_length(i, value.shape()[static_cast<size_t>(info.axis)]);
}

void Context::reset_states() {
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].memory.buffer) reset_state(i);
}

void Context::reset_state(size_t i) {
  if (const exec::StateInfo& info = program_->executable().states[i]; info.grows())
    set_length(i, program_->executable().dims[static_cast<size_t>(info.dim)].range.least);
  const int64_t bytes = *tensor_bytes(state_buffer(i).dtype, states_[i].shape);
  const StateMemory& memory = states_[i].memory;
  if (bytes == 0) return;
  if (const int initial = program_->executable().states[i].initial; initial >= 0) {
    const BoundStep copy =
        BoundCopy{memory.address(), program_->constant(static_cast<size_t>(initial)), bytes};
    stream_->run({&copy, 1});
  } else {
    stream_->fill(*memory.buffer, memory.offset, bytes, 0);
  }
}

}  // namespace tcc::runtime
