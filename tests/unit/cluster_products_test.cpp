// Products of few tiles and long sums may share k over the workgroups of a cluster: in every type
// of sums the kernel compiles.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/target_profile.h"
#include "scheduler/tuning.h"

namespace tcc {
namespace {

// A config whose workgroups share k.
class Clusters : public sched::ConfigSource {
 public:
  sched::ConfigChoice choose(const sched::Candidate& candidate) const override {
    const sched::ConfigSpace& space = candidate.space();
    sched::Config config = candidate.default_config();
    for (const int64_t slices : {1, 2, 4, 8}) {
      config.set("slices", slices);
      config.set("cluster", 4);
      if (space.violation(config).empty()) return {config, sched::Tier::exact};
    }
    ADD_FAILURE() << space.violation(config);
    return {candidate.default_config(), sched::Tier::analytic};
  }
};

class ClusterProducts : public testing::TestWithParam<const char*> {};

TEST_P(ClusterProducts, Compile) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const std::string text =
      str("tcc: 1\nname: products\ninputs: {a: {dtype: ", GetParam(),
          ", shape: [37, 700]}, b: {dtype: ", GetParam(),
          ", shape: [700, 45]}}\nnodes:\n  - {out: y, op: matmul, in: [a, b]}\noutputs: [y]\n");
  const ir::Graph graph = parse_yaml_graph(text, "products.yaml", ".");
  const Clusters clusters;
  backends::CompileOptions options;
  options.configs = &clusters;
  const auto executable = backends::compile(graph, sched::target_by_name("cuda:sm_90a"), options);
  ASSERT_EQ(executable.kernels.size(), 1u);
  EXPECT_NE(executable.kernels[0].source.find("#define PEERS 4"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Types, ClusterProducts, testing::Values("f32", "f64", "i32", "i64"),
                         [](const auto& its) { return std::string(its.param); });

}  // namespace
}  // namespace tcc
