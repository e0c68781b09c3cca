// Products of few tiles and long sums share k over the workgroups of a cluster: in every type of
// sums the kernel compiles.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/target_profile.h"

namespace tcc {
namespace {

class ClusterProducts : public testing::TestWithParam<const char*> {};

TEST_P(ClusterProducts, Compile) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const std::string text =
      str("tcc: 1\nname: products\ninputs: {a: {dtype: ", GetParam(),
          ", shape: [37, 700]}, b: {dtype: ", GetParam(),
          ", shape: [700, 45]}}\nnodes:\n  - {out: y, op: matmul, in: [a, b]}\noutputs: [y]\n");
  const ir::Graph graph = parse_yaml_graph(text, "products.yaml", ".");
  const auto executable = backends::compile(graph, sched::target_by_name("cuda:sm_90a"), {});
  ASSERT_EQ(executable.kernels.size(), 1u);
  EXPECT_NE(executable.kernels[0].source.find("#define PEERS 4"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Types, ClusterProducts, testing::Values("f32", "f64", "i32", "i64"),
                         [](const auto& its) { return std::string(its.param); });

}  // namespace
}  // namespace tcc
