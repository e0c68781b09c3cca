// Functions of the host's that graphs call by name, as nodes of the op `external`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/device_value.h"
#include "ir/graph.h"

namespace tcc::ir {

// The types of a call's results, from those of its operands, whose dims may be symbols. Throws
// Error(bad_input) for operands that the function does not take. `run` gets tensors of these types,
// those of the results filled with zeros. `run_on_device` gets their places in device memory, and
// enqueues on the stream, in whose order the operands are there; devices that give their streams
// (runtime/device.h) call it rather than `run`. One of the two may be missing. All may be called
// from any thread.
struct ExternalFunction {
  std::string name;
  std::function<std::vector<Type>(std::span<const Type> operands)> results;
  std::function<void(std::span<const Tensor> operands, std::span<Tensor> results)> run;
  // Calls happen even where nothing reads their results, each as often as the graph says and in its
  // order. Without effects, equal calls are one.
  bool has_effects = false;
  std::function<void(std::span<const DeviceValue> operands, std::span<const DeviceValue> results,
                     void* stream)>
      run_on_device = {};
  bool may_be_captured = false;  // run_on_device does nothing but enqueue
};
using ExternalFunctionPtr = std::shared_ptr<const ExternalFunction>;

// Makes the function known to the process. Thread-safe. Throws Error(bad_input) for a name that is
// taken or no name of a graph file's text, and for a function that lacks a part.
void register_external(ExternalFunction function);
// The function of that name. Throws Error(bad_input), which names it and those that there are.
ExternalFunctionPtr external_function(std::string_view name);

// Runs the function. Throws Error, which names it, where it throws or changes the type of a result.
void call_external(const ExternalFunction& function, std::span<const Tensor> operands,
                   std::span<Tensor> results);
// The same of its form for device memory.
void call_external(const ExternalFunction& function, std::span<const DeviceValue> operands,
                   std::span<const DeviceValue> results, void* stream);

// Whether the node must run although nothing reads its results.
bool has_effects(const Node& node);

}  // namespace tcc::ir
