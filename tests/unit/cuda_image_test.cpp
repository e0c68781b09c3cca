// Only whole cubins and PTX reach the CUDA driver. These tests need no GPU.
#include <gtest/gtest.h>

#include <string_view>

#include "backends/compile/nvrtc.h"
#include "runtime/cuda/image.h"

namespace tcc::runtime::cuda {
namespace {

std::vector<uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(CudaImageTest, KnowsPtx) {
  using namespace std::string_view_literals;
  EXPECT_EQ(kind_of_image(bytes_of("//\n.version 8.0\n.target sm_80\n\0"sv)), Image::ptx);
  EXPECT_EQ(kind_of_image(bytes_of("//\n.version 8.0\n.target sm_80\n"sv)), Image::damaged);
  EXPECT_EQ(kind_of_image(bytes_of("something else\0"sv)), Image::damaged);
  EXPECT_EQ(kind_of_image({}), Image::damaged);
}

TEST(CudaImageTest, KnowsAWholeCubin) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const std::string source = "extern \"C\" __global__ void k(float* a) { a[threadIdx.x] += 1.0f; }";
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const std::vector<uint8_t> cubin = backends::compile_cuda(source, "k", arch);
    EXPECT_EQ(kind_of_image(cubin), Image::cubin) << arch;
    for (size_t size = 1; size < cubin.size(); ++size)
      ASSERT_EQ(kind_of_image(std::span(cubin).first(size)), Image::damaged)
          << arch << " cut to " << size;
  }
}

// Whatever the headers say, nothing is read beyond the bytes (the sanitizers' builds would tell).
TEST(CudaImageTest, SurvivesDamagedHeaders) {
  if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
  const std::vector<uint8_t> cubin =
      backends::compile_cuda("extern \"C\" __global__ void k() {}", "k", "sm_80");
  for (size_t i = 0; i < 64; ++i)
    for (const uint8_t value : {0x00, 0x7f, 0xff}) {
      std::vector<uint8_t> damaged = cubin;
      damaged[i] = value;
      kind_of_image(damaged);
    }
}

}  // namespace
}  // namespace tcc::runtime::cuda
