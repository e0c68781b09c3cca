// Products of open rows and batches as CUDA kernels: their hooks get the sizes as parameters.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"

namespace tcc::backends {
namespace {

TEST(OpenProducts, CompileForCuda) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 16}\n"
      "inputs: {x: {dtype: bf16, shape: [B, 48]}, q: {dtype: f32, shape: [B, B, 16]},\n"
      "  k: {dtype: f32, shape: [B, 16, 9]}}\n"
      "weights: {w: {dtype: bf16, shape: [96, 48], init: {normal: 0.1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w]}\n"
      "  - {out: r, op: relu, in: [y]}\n"
      "  - {out: s, op: matmul, in: [q, k]}\n"
      "outputs: [r, s]\n",
      "g.yaml", ".");
  CompileOptions options;
  options.open_dims = {{"B", {}}};
  options.binaries = nvrtc_missing().empty();
  for (const char* target : {"cuda:sm_80", "cuda:sm_90a"}) {
    const exec::Executable executable = compile(graph, sched::target_by_name(target), options);
    ASSERT_EQ(executable.kernels.size(), 2u);
    for (const exec::KernelBinary& kernel : executable.kernels)
      EXPECT_EQ(kernel.template_name, "contraction") << target;
  }
}

}  // namespace
}  // namespace tcc::backends
