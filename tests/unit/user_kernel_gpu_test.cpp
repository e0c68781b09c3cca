// The example kernels on a CUDA device: workgroups of two dims, dynamic shared memory.
#include <gtest/gtest.h>

#include "autotune/user_kernel/user_tunable.h"
#include "runtime/device.h"
#include "tests/unit/user_kernel_fixture.h"

namespace tcc::autotune {
namespace {

TEST(UserKernelGpuTest, ExamplesAreRight) {
  const auto device = runtime::open_device("cuda:0");
  expect_matmul(device, {{},
                         {{"TILE_M", 16}, {"TILE_N", 32}, {"TILE_K", 8}, {"PAD", 0}},
                         {{"TILE_M", 128}, {"TILE_N", 128}, {"THREAD_M", 8}, {"THREAD_N", 8}},
                         {{"TILE_M", 128}, {"TILE_N", 32}, {"TILE_K", 32}, {"THREAD_N", 1}}});
  expect_nbody(device, {{},
                        {{"THREADS", 32}, {"BODIES", 4}, {"UNROLL", 16}},
                        {{"THREADS", 64}, {"BODIES", 2}, {"USE_SHARED", 0}}});
}

// Two kernels on whole outputs: what tcc-tune compares.
TEST(UserKernelGpuTest, NBodyPassesTheGateAtItsOwnSize) {
  const auto device = runtime::open_device("cuda:0");
  const Tunable nbody = tunable(example("nbody"), device->target());
  const auto bench = local_bench(device, nbody.job(1));
  ASSERT_EQ(bench->baseline(nbody.expected()).status, Measurement::Status::measured);
  const Measurement measured =
      bench->measure(nbody.compile(nbody.default_config), Effort::full, 1.0);
  EXPECT_EQ(measured.status, Measurement::Status::measured) << measured.reason;
}

}  // namespace
}  // namespace tcc::autotune
