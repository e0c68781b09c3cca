// Compiles a graph, runs it on a device and compares the result with the reference: what tests/ops
// and tests/fuzz share.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "ir/graph.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "support/error.h"

namespace tcc::test {

// A test is for one of these kinds of devices: software devices run everywhere, GPUs in tests
// labelled gpu.
enum class Devices : uint8_t { software, gpu };

// Stays open: opening a GPU costs seconds where several processes use it. Never closed, since the
// drivers' own clean-up at the end of the process may come first.
inline std::shared_ptr<runtime::Device> open_once(const std::string& name) {
  static auto& devices = *new std::map<std::string, std::shared_ptr<runtime::Device>>;
  std::shared_ptr<runtime::Device>& device = devices[name];
  if (!device) device = runtime::open_device(name);
  return device;
}

inline const std::vector<std::string>& devices_present(Devices wanted) {
  static const std::map<Devices, std::vector<std::string>> all = [] {
    std::map<Devices, std::vector<std::string>> found = {{Devices::software, {}},
                                                         {Devices::gpu, {}}};
    for (const runtime::DeviceEntry& entry : runtime::list_devices().devices)
      found[open_once(entry.name)->target().is_cpu ? Devices::software : Devices::gpu].push_back(
          entry.name);
    return found;
  }();
  return all.at(wanted);
}

// "vulkan:0" as part of a test's name.
inline std::string test_name(std::string device) {
  std::ranges::replace(device, ':', '_');
  return device;
}

struct DrawOptions {
  double lo = -2, hi = 2;          // floats
  int64_t int_lo = 0, int_hi = 8;  // integers without a range of their own
  uint64_t seed = 0;
};

// A tensor for every input of a bound graph.
inline std::vector<Tensor> draw_inputs(const ir::Graph& graph, const DrawOptions& options) {
  std::vector<Tensor> tensors;
  for (const ir::Value* input : graph.inputs) {
    Init init = Init::uniform(options.lo, options.hi);
    if (input->dtype() == DType::boolean) init = Init::integers(0, 2);
    if (is_integer(input->dtype())) {
      const auto [lo, hi] = input->random_range.value_or(std::pair(options.int_lo, options.int_hi));
      // The range is cut to the values that the dtype holds.
      const bool byte = size_bytes(input->dtype()) == 1, is_signed = info(input->dtype()).is_signed;
      init = Init::integers(std::max<int64_t>(lo, is_signed ? (byte ? -128 : lo) : 0),
                            byte ? std::min<int64_t>(hi, is_signed ? 128 : 256) : hi);
    }
    tensors.push_back(random_tensor(input->dtype(), ir::const_shape(*input), init,
                                    stream_seed(options.seed, input->name)));
  }
  return tensors;
}

inline std::vector<Tensor> run_on_device(const ir::Graph& graph, const std::string& device_name,
                                         std::span<const Tensor> inputs,
                                         const backends::CompileOptions& options) {
  const std::shared_ptr<runtime::Device> device = open_once(device_name);
  exec::Executable executable = backends::compile(graph, device->target(), options);
  runtime::Context context(std::make_shared<const runtime::Program>(device, std::move(executable)));
  return context.run(inputs);
}

// "" when the outputs are right by the rule of ir/reference/compare.h, else which is not and why.
inline std::string compare_with_reference(const ir::Graph& graph, std::span<const Tensor> inputs,
                                          std::span<const Tensor> outputs,
                                          const ir::CheckOptions& options = {}) {
  std::string text;
  const std::vector<ir::Comparison> all = ir::check_outputs(graph, inputs, outputs, options);
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].pass)
      text += str("output ", graph.output_names[i], ": ", all[i].reason, " (noise makes ",
                  all[i].noise, ")\n");
  return text;
}

// Both of the above, with the precision of the options; an error that is thrown is a difference,
// too.
inline std::string difference(const ir::Graph& graph, const std::string& device,
                              std::span<const Tensor> inputs,
                              const backends::CompileOptions& options) {
  const ir::CheckOptions check = {
      .tf32 = options.matmul_precision != backends::MatmulPrecision::highest, .progress = {}};
  try {
    return compare_with_reference(graph, inputs, run_on_device(graph, device, inputs, options),
                                  check);
  } catch (const std::exception& error) { return str("throws: ", error.what()); }
}

}  // namespace tcc::test
