#include "scheduler/kernel_sequence.h"

#include <numeric>

#include "support/error.h"
#include "support/plural.h"

namespace tcc::sched {
namespace {

// A buffer of the sequence: whether its contents are defined by now, whether kernels may write it,
// and whether it is an input in whose place an output is written, which has begun by now.
struct BufferState {
  DType dtype;
  SymInt elements;
  bool is_defined, is_input;
  bool is_in_place = false, is_replaced = false;
};

std::vector<BufferState> buffers_of(const KernelSequence& sequence, const Region& region) {
  std::vector<BufferState> buffers;
  for (const ir::Value* value : region.inputs)
    buffers.push_back({value->dtype(), region.layout(value).elements, true, true});
  for (const auto& [output, input] : region.in_place) {
    BufferState& state = buffers[static_cast<size_t>(region.slot_of_input(input))];
    state.is_input = false;
    state.is_in_place = true;
  }
  for (const ir::Value* value : region.outputs)
    if (!region.in_place.contains(value))
      buffers.push_back({value->dtype(), region.layout(value).elements, false, false});
  for (const Workspace& workspace : sequence.workspaces)
    buffers.push_back({workspace.dtype, workspace.elements, workspace.zeroed, false});
  return buffers;
}

bool is_one_kernel(const KernelSequence& sequence) {
  return sequence.launches.size() == 1 && sequence.launches.front().times.is(1) &&
         sequence.workspaces.empty();
}

}  // namespace

KernelSequence::KernelSequence(Kernel kernel) {
  std::vector<int> buffers(kernel.arguments.size());
  std::iota(buffers.begin(), buffers.end(), 0);
  launches.push_back({std::move(kernel), std::move(buffers)});
}

const Kernel& KernelSequence::only() const {
  TCC_CHECK(is_one_kernel(*this), launches.size(), " kernels");
  return launches.front().kernel;
}

std::string summary(const KernelSequence& sequence) {
  if (is_one_kernel(sequence)) return "";
  std::string text = counted(sequence.launches.size(), "kernel");
  for (const KernelSequence::Launch& launch : sequence.launches)
    if (!launch.times.is(1)) text += str(", ", launch.kernel.name, " ", launch.times, " times,");
  for (const Workspace& workspace : sequence.workspaces)
    text += str(&workspace == sequence.workspaces.data() ? " with " : ", ", name(workspace.dtype),
                "[", workspace.elements, "] ", workspace.name);
  return text;
}

std::string to_string(const KernelSequence& sequence) {
  if (is_one_kernel(sequence)) return to_string(sequence.only());
  std::string text;
  for (const Workspace& workspace : sequence.workspaces)
    text += str("workspace ", workspace.name, ": ", name(workspace.dtype), "[", workspace.elements,
                "]", workspace.zeroed ? " of zeros" : "", "\n");
  for (const auto& [kernel, buffers, times] : sequence.launches) {
    text += times.is(1) ? "on buffers" : str(times, " times on buffers");
    for (const int number : buffers) text += str(" ", number);
    text += ":\n" + to_string(kernel);
  }
  return text;
}

void verify(const KernelSequence& sequence, const Region& region) {
  TCC_CHECK(!sequence.launches.empty(), region.name(), " became no kernel");
  std::vector<BufferState> states = buffers_of(sequence, region);
  const auto fail = [&](const Kernel& kernel, size_t argument, const auto&... reason) {
    throw InternalError(
        str("kernel ", kernel.name, " of ", region.name(), ": argument ", argument, reason...));
  };
  const auto is_workspace = [&](int number) {
    return static_cast<size_t>(number) >= states.size() - sequence.workspaces.size();
  };
  for (const auto& [kernel, buffers, times] : sequence.launches) {
    TCC_CHECK(times.range().lo >= 1 && (times.is(1) || kernel.numbered), kernel.name, ": ", times,
              " launches without a number");
    TCC_CHECK(buffers.size() == kernel.arguments.size(), kernel.name, ": ", buffers.size(),
              " buffers for ", kernel.arguments.size(), " arguments");
    for (size_t i = 0; i < buffers.size(); ++i) {
      const Argument& argument = kernel.arguments[i];
      const auto number = static_cast<size_t>(buffers[i]);
      if (number >= states.size()) fail(kernel, i, " is buffer ", number, " of ", states.size());
      const BufferState& state = states[number];
      if (argument.dtype != state.dtype)
        fail(kernel, i, " is ", name(argument.dtype), ", and buffer ", number, " ",
             name(state.dtype));
      if (argument.elements.range().hi > state.elements.range().hi)
        fail(kernel, i, " has ", argument.elements, " elements, and buffer ", number, " ",
             state.elements);
      if (argument.is_written() && state.is_input) fail(kernel, i, " writes an input");
      if (argument.is_read() && argument.is_written() && !kernel.is_generated() &&
          !is_workspace(buffers[i]))
        fail(kernel, i, " is updated by a device source and is no workspace");
      const bool fills_itself =
          argument.is_written() && !kernel.is_generated() && is_workspace(buffers[i]);
      if (argument.is_read() && !state.is_defined && !fills_itself)
        fail(kernel, i, " reads buffer ", number, ", which nothing has written");
      if (argument.is_read() && state.is_replaced)
        fail(kernel, i, " reads buffer ", number,
             ", an input that a kernel before it has written in place");
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!kernel.arguments[i].is_written()) continue;
      BufferState& state = states[static_cast<size_t>(buffers[i])];
      state.is_defined = true;
      state.is_replaced = state.is_in_place;
    }
  }
  for (const ir::Value* output : region.outputs)
    TCC_CHECK(states[static_cast<size_t>(region.slot_of_output(output))].is_defined, region.name(),
              ": no kernel writes ", output->name);
}

}  // namespace tcc::sched
