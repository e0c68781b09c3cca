// gemv whose large operand is computed by the kernel, element by element: its source has branches
// for vectors of 16 bytes, which NVRTC checks in such a kernel too.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

TEST(GemvComputed, CompilesForAnyVector) {
  if (const std::string why = nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  for (const char* dtype : {"f16", "bf16", "f32"})
    for (const int width : {2, 4, 8}) {
      const ir::Graph graph = parse_yaml_graph(
          str("tcc: 1\nname: g\ninputs: {x: {dtype: ", dtype, ", shape: [5, 32, 3, ", width,
              "]}, w: {dtype: ", dtype,
              ", shape: [4, 32, 3, 3]}}\n"
              "nodes: [{out: y, op: conv2d, in: [x, w], padding: 1}]\noutputs: [y]\n"),
          "g.yaml", ".");
      const auto executable = compile(graph, sched::target_by_name("cuda:sm_90a"));
      EXPECT_TRUE(std::ranges::any_of(executable.kernels,
                                      [](const auto& kernel) {
                                        return kernel.template_name == "gemv" &&
                                               !kernel.code.empty();
                                      }))
          << dtype << " " << width;
    }
}

}  // namespace
}  // namespace tcc::backends
