// Copies of narrow floats on this machine's software devices, and what is generated for them.
#include "tests/ops/moved_bits_suite.h"

#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "runtime/program.h"
#include "scheduler/target.h"

namespace tcc::test {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MovedBits);
INSTANTIATE_TEST_SUITE_P(Devices, MovedBits,
                         ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& device) { return test_name(device.param); });

// The kernel's own text, without the library before it.
std::string body_of(const std::string& source) {
  const size_t at = std::min(source.find("extern \"C\" __global__"), source.find("void main()"));
  return source.substr(at);
}

// Small ones in single elements, large ones in vectors.
TEST(MovedBits, AreNotConverted) {
  for (const char* target : {"cuda:sm_90a", "vulkan"})
    for (const DType type : {DType::f16, DType::bf16, DType::f8e5m2})
      for (const int64_t side : {16, 2048}) {
        backends::CompileOptions options;
        const auto executable = backends::compile(graph_of_copies(type, side, false),
                                                  sched::target_by_name(target), options);
        for (const exec::KernelBinary& kernel : executable.kernels) {
          const std::string text = body_of(kernel.source);
          for (const char* conversion : {"f32", "tcc_pack"})
            EXPECT_EQ(text.find(conversion), std::string::npos)
                << target << " converts " << name(type) << ":\n"
                << text;
        }
      }
}

}  // namespace
}  // namespace tcc::test
