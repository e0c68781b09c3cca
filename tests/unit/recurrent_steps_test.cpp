// Recurrent layers whose hidden units are shared out among workgroups.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/cuda_parts.h"
#include "tests/draws.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

TEST(RecurrentSteps, AgreeWithTheReference) {
  test::check_recurrent(test::Devices::software, "recurrent_steps", {}, 1, 8);
}

// GPUs run these, too: recurrent_gpu_test.cpp.
TEST(RecurrentUnits, CompileForCuda) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const uint64_t first = 101, count = test::draws(10u);
  for (const std::string name : {"recurrent_grid", "recurrent_steps"}) {
    const test::OnlyRecurrent only(name);
    for (const std::string arch : {"cuda:sm_90a", "cuda:sm_80"}) {
      int taken = 0, on_matrix_units = 0;
      for (uint64_t seed = first; seed < first + count; ++seed) {
        const test::CountedRecurrent configs(name, seed % 2 == 0 ? 0 : seed);
        backends::CompileOptions options;
        options.configs = &configs;
        options.binaries = false;
        const ir::Graph graph = test::random_recurrent_of(seed, test::RecurrentSizesLarge());
        const exec::Executable executable =
            backends::compile(graph, test::indifferent(sched::target_by_name(arch)), options);
        for (const exec::KernelBinary& kernel : executable.kernels) {
          if (kernel.template_name != name) continue;
          EXPECT_NO_THROW(backends::compile_cuda(test::with_all_names_defined(kernel.source),
                                                 kernel.region, arch.substr(arch.find(':') + 1)))
              << name << " " << arch << " " << seed << " " << kernel.config;
          on_matrix_units += kernel.config.find("matrix=1") != std::string::npos;
        }
        taken += configs.kernels();
      }
      EXPECT_GE(taken, static_cast<int>(count) / 2) << name << " " << arch;
      EXPECT_GE(on_matrix_units, 1) << name << " " << arch;
    }
  }
}

}  // namespace
}  // namespace tcc
