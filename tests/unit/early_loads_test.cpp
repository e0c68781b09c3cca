// Values that only a reduction's outputs read are loaded before the row is reduced, where that
// pays. Values at an index that the reduction finds are not.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"

namespace tcc {
namespace {

// Some kernel's text loads early. `x` is the type of the input.
bool loads_early(const std::string& x, const std::string& nodes) {
  const std::string text = "tcc: 1\ninputs:\n  x: {dtype: f32, shape: " + x +
                           "}\n  w: {dtype: f32, shape: [96]}\nnodes:\n" + nodes + "outputs: [y]\n";
  const ir::Graph graph = parse_yaml_graph(text, "g.yaml", ".");
  for (const exec::KernelBinary& kernel :
       backends::compile(graph, sched::target_by_name("cuda:sm_90a"), {}).kernels)
    if (kernel.source.find("early") != std::string::npos) return true;
  return false;
}

TEST(EarlyLoads, OfANormsWeight) {
  EXPECT_TRUE(loads_early(
      "[64, 96]", "  - {out: y, op: rms_norm, in: [x, w], normalized_shape: [96], eps: 1.0e-6}\n"));
}

TEST(EarlyLoads, NotWhereAnIndexIsReducedFirst) {
  // Its rows are those that an argmax found.
  EXPECT_FALSE(loads_early("[2, 3, 3, 3]", "  - {out: y, op: det, in: [x]}\n"));
}

}  // namespace
}  // namespace tcc
