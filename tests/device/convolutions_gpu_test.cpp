// Random convolutions that read their image by im2col loads, with random configs, against the
// reference.
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_convolutions.h"

namespace tcc::test {
namespace {

void check_convolutions(const Draw& draw) {
  int64_t by_im2col = 0;
  check_products("wgmma", draw, [&](const exec::Executable& executable) {
    by_im2col += im2col_kernels(executable);
  });
  if (!::testing::Test::IsSkipped()) { EXPECT_GT(by_im2col, 0); }
}

void check_convolutions(ConvolutionKind kind) {
  check_convolutions([&](std::mt19937_64& random) { return draw_convolution(random, kind); });
}

TEST(Convolutions, OfFloatsAgreeWithTheReference) { check_convolutions(ConvolutionKind::floats); }
TEST(Convolutions, OfBytesAreExact) { check_convolutions(ConvolutionKind::bytes); }
TEST(Convolutions, OfF8AgreeWithTheReference) { check_convolutions(ConvolutionKind::f8); }
TEST(Convolutions, OfFewChannelsAgreeWithTheReference) { check_convolutions(draw_stem); }

// On mma.sync, whose workgroups share k.
TEST(Convolutions, InPartsOnMmaAgreeWithTheReference) {
  int64_t by_im2col = 0, split = 0;
  check_products(
      "mma",
      [](std::mt19937_64& random) {
        Product product = draw_convolution(random, ConvolutionKind::floats);
        product.fixed["split_k"] = pick(random, {1, 2, 3, 5, 8, 16});
        return product;
      },
      [&](const exec::Executable& executable) {
        by_im2col += im2col_kernels(executable);
        for (const exec::KernelBinary& kernel : executable.kernels)
          split += kernel.template_name == "gemm_sm80" &&
                   kernel.config.find("split_k=1 ") == std::string::npos;
      });
  if (::testing::Test::IsSkipped()) return;
  EXPECT_GT(by_im2col, 0);
  EXPECT_GT(split, 0);
}

}  // namespace
}  // namespace tcc::test
