// Loads of kind im2col compile for images of one to three dims. tests/device/im2col_gpu_test.cpp
// runs them.
#include <gtest/gtest.h>

#include <string>

#include "backends/compile/nvrtc.h"
#include "tests/cuda_parts.h"

namespace tcc::backends {
namespace {

TEST(Im2colParts, CompileForSm90) {
  if (const std::string missing = nvrtc_missing(); !missing.empty()) GTEST_SKIP() << missing;
  for (const std::string spatial : {"1", "2", "3"})
    for (const std::string multicast : {"true", "false"}) {
      const std::string source =
          "#include \"sm90_im2col.cuh\"\nconstexpr i32 SPATIAL = " + spatial +
          ";\nconstexpr bool MULTICAST = " + multicast + R"(;
extern __shared__ __align__(1024) u8 memory[];
extern "C" __global__ void k(f32* out, const __grid_constant__ TensorMap map, i32 channel) {
  const u32 to = tcc_cuda_shared(memory), barrier = to + 4096;
  i32 pixel[SPATIAL];
  u16 tap[SPATIAL];
  for (i32 d = 0; d < SPATIAL; ++d) pixel[d] = channel + d, tap[d] = u16(channel + d);
  tma_load_im2col<SPATIAL, MULTICAST>(to, map, barrier, 3, channel, pixel, channel, tap);
}
)";
      EXPECT_FALSE(test::compile_parts(source, "sm_90a").empty()) << spatial << multicast;
    }
}

}  // namespace
}  // namespace tcc::backends
