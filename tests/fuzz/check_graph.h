// One graph on a device against the reference: what the tests of random graphs share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "ir/reference/check.h"
#include "support/error.h"
#include "tests/run_graph.h"

namespace tcc::test {

inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline std::string device() {
  if (const char* name = std::getenv("TCC_FUZZ_DEVICE")) return name;
  const std::vector<std::string> devices = devices_present(Devices::software);
  return devices.empty() ? "" : devices.front();
}

// Names the outputs that are wrong, and why; "" for none.
inline std::string wrong_outputs(const ir::Graph& graph, std::span<const Tensor> inputs,
                                 std::span<const Tensor> outputs) {
  std::string text;
  const std::vector<ir::Comparison> all = ir::check_outputs(graph, inputs, outputs);
  for (size_t i = 0; i < all.size(); ++i)
    if (!all[i].pass)
      text += str("output ", graph.output_names[i], ": ", all[i].reason, " (noise makes ",
                  all[i].noise, ")\n");
  return text;
}

inline std::string difference_of(const ir::Graph& graph, uint64_t seed,
                                 const backends::CompileOptions& options) {
  DrawOptions draw;
  draw.seed = seed;
  const std::vector<Tensor> inputs = draw_inputs(graph, draw);
  try {
    return wrong_outputs(graph, inputs, run_on_device(graph, device(), inputs, options));
  } catch (const std::exception& error) { return str("throws: ", error.what()); }
}

}  // namespace tcc::test
