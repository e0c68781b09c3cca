// Functions of the host's that graphs call between kernels. docs/external-functions.md describes
// their use.
//
//   tcc::register_external(
//       {"sum_over_ranks", [](const auto& x) { return x; },
//        [](std::span<const tcc::HostTensor> x, std::span<tcc::HostTensor> y) { ... }});
//   const tcc::GraphValue y = builder.op("external", {x}, {{"function", "sum_over_ranks"}});
#pragma once

#include "tcc/graph.hpp"
#include "tcc/tcc.hpp"

#if __cplusplus >= 202002L  // tcc/tcc.hpp says what is missing
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace tcc {

// The type of an operand or a result. Dims are numbers or, before the graph is compiled,
// expressions of its symbols: {x.dtype, {x.shape[0], "2*(" + x.shape[1].text + ")"}}.
struct TensorType {
  std::string dtype;
  Dims shape;
};

// A dense, row-major tensor in device memory, at a multiple of its element's size.
struct DeviceOperand {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;  // 0 perhaps, without bytes

  // The address as CUDA's functions take it.
  void* data() const { return reinterpret_cast<void*>(address); }  // NOLINT: a device's address
};

// A function has a form for host memory (`run`), one for device memory (`run_on_device`), or both,
// of which CUDA devices call the latter.
struct ExternalFunction {
  std::string name;
  // Returns the types of the results, at least one, from those of the operands. It throws Error for
  // operands that the function does not take; the message gets the node's place.
  std::function<std::vector<TensorType>(const std::vector<TensorType>& operands)> results;
  // Computes the results, which are zeros of these types at first. What it throws ends the run with
  // an Error that names the function. The context that calls it refuses every other use
  // meanwhile; buffers, other contexts and other threads go on.
  std::function<void(std::span<const HostTensor> operands, std::span<HostTensor> results)> run;
  // Calls happen even where nothing reads their results, once for each node, in the graph's order
  // (that of its nodes). Without effects, equal calls may become one.
  bool has_effects = false;
  // Enqueues on the stream (cudaStream_t) what computes the results, all elements of them, from the
  // operands; it waits for nothing. The operands are there in the stream's order, and so are the
  // results for what comes after. The device is the thread's current one. Only CUDA devices have
  // streams to give (and "null", whose stream is null): compile() refuses graphs of other devices
  // whose functions have this form alone.
  std::function<void(std::span<const DeviceOperand> operands,
                     std::span<const DeviceOperand> results, void* stream)>
      run_on_device{};
  // run_on_device does nothing but enqueue, with the same effect each time: it need not be called
  // where a captured stream is replayed. Other functions are refused there.
  bool may_be_captured = false;
};

// Makes a function known to the process, for graphs that are loaded or built afterwards. Functions
// are called from any thread, also several at a time. Throws Error(bad_input) for a name that is
// registered already or cannot name a function, and for a function that lacks `results` or both
// forms.
void register_external(ExternalFunction function);

}  // namespace tcc
#pragma GCC visibility pop
#endif
