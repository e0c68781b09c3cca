// The facts about a size decide how wide kernels read.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"

namespace tcc::backends {
namespace {

// The widest access of a kernel on rows of S elements, in bytes.
int widest(const char* target, const ir::SizeRange& range) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ndims: {S: 8}\n"
      "inputs: {x: {dtype: f32, shape: [3, S]}}\n"
      "nodes: [{out: y, op: exp, in: [x]}]\n"
      "outputs: [y]\n",
      "g.yaml", ".");
  CompileOptions options;
  options.open_dims = {{"S", range}};
  options.dims = {{"S", 1 << 20}};
  options.binaries = false;
  const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
  int most = 0;
  for (const exec::KernelBinary& kernel : executable.kernels)
    for (const int alignment : kernel.alignments) most = std::max(most, alignment);
  return most;
}

TEST(SizedVectors, MultiplesGiveWiderAccesses) {
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a", "vulkan"}) {
    EXPECT_EQ(widest(target, {}), 4) << target;
    EXPECT_EQ(widest(target, {2, 1 << 24, 2}), 8) << target;
    EXPECT_EQ(widest(target, {8, 1 << 24, 8}), 16) << target;
  }
}

}  // namespace
}  // namespace tcc::backends
