// One graph on a device against the reference: what the tests of random graphs share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/draws.h"
#include "tests/run_graph.h"

namespace tcc::test {

inline std::string device() {
  if (const char* name = std::getenv("TCC_FUZZ_DEVICE")) return name;
  const std::vector<std::string> devices = devices_present(Devices::software);
  return devices.empty() ? "" : devices.front();
}

inline std::string difference_of(const ir::Graph& graph, uint64_t seed,
                                 const backends::CompileOptions& options) {
  DrawOptions draw;
  draw.seed = seed;
  return difference(graph, device(), draw_inputs(graph, draw), options);
}

}  // namespace tcc::test
