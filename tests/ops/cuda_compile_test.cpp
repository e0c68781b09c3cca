// Every op's kernels through NVRTC, for real architectures and without a GPU.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "ir/text.h"
#include "tests/cubin.h"
#include "tests/draws.h"
#include "tests/ops/op_samples.h"

namespace tcc::test {
namespace {

// The initial of the ops' names: one test each, so that ctest runs them in parallel.
class CudaCompile : public ::testing::TestWithParam<char> {
 protected:
  void SetUp() override {
    if (const std::string reason = backends::nvrtc_missing(); !reason.empty())
      GTEST_SKIP() << "CUDA kernels were not compiled: " << reason;
  }
};

// Counts the kernels, and how many of them could overlap the launch before them but do not, since
// the compiler put an access to memory ahead of the wait.
struct Overlaps {
  size_t kernels = 0, late = 0;
};

void compile_for(const std::string& target, const ir::Graph& graph, Overlaps& overlaps) {
  try {
    const sched::Target arch = sched::target_by_name(target);
    for (const exec::KernelBinary& kernel : backends::compile(graph, arch).kernels) {
      EXPECT_TRUE(!kernel.waits || waits_first(kernel.code)) << target << "\n" << kernel.source;
      ++overlaps.kernels;
      overlaps.late += arch.overlapping_launches && !kernel.waits;
    }
  } catch (const Error& error) {
    ADD_FAILURE() << target << ": " << error.what() << "\n" << ir::print_graph(graph);
  }
}

// A third of the samples, and the first of each op, for sm_90a; a third of those for sm_80 too.
TEST_P(CudaCompile, SamplesOfOps) {
  size_t number = 0;
  OneOf third(3);
  Overlaps overlaps;
  for (const ir::OpDef& op : ir::all_ops()) {
    if (op.name[0] != GetParam()) continue;
    for (const ir::OpSample& sample : op.samples) {
      if (!third.takes_next() && &sample != &op.samples.front()) continue;
      const ir::Graph graph = sample_graph(op, sample);
      compile_for("cuda:sm_90a", graph, overlaps);
      if (number++ % 3 == 0) compile_for("cuda:sm_80", graph, overlaps);
    }
  }
  EXPECT_LE(overlaps.late, 2 + overlaps.kernels / 20) << "of " << overlaps.kernels;
}

std::vector<char> initials() {
  std::vector<char> initials;
  for (const ir::OpDef& op : ir::all_ops())
    if (initials.empty() || initials.back() != op.name[0]) initials.push_back(op.name[0]);
  return initials;
}

INSTANTIATE_TEST_SUITE_P(Table, CudaCompile, ::testing::ValuesIn(initials()),
                         [](const auto& initial) { return std::string(1, initial.param); });

}  // namespace
}  // namespace tcc::test
