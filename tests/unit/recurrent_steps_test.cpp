// Recurrent layers whose hidden units are shared out among workgroups.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

TEST(RecurrentSteps, AgreeWithTheReference) {
  test::check_recurrent(test::Devices::software, "recurrent_steps", {}, 1, 8);
}

// GPUs run these, too: recurrent_gpu_test.cpp.
TEST(RecurrentUnits, CompileForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  constexpr uint64_t kFirst = 101, kCount = 10;
  for (const std::string name : {"recurrent_grid", "recurrent_steps"}) {
    const test::OnlyRecurrent only(name);
    for (const std::string arch : {"cuda:sm_90a", "cuda:sm_80"}) {
      int taken = 0;
      for (uint64_t seed = kFirst; seed < kFirst + kCount; ++seed) {
        const test::CountedRecurrent configs(name, seed % 2 == 0 ? 0 : seed);
        backends::CompileOptions options;
        options.configs = &configs;
        const ir::Graph graph = test::random_recurrent_of(seed, test::RecurrentSizesLarge());
        EXPECT_NO_THROW(
            backends::compile(graph, test::indifferent(sched::target_by_name(arch)), options))
            << name << " " << arch << " " << seed;
        taken += configs.kernels();
      }
      EXPECT_GE(taken, static_cast<int>(kCount) / 2) << name << " " << arch;
    }
  }
}

}  // namespace
}  // namespace tcc
