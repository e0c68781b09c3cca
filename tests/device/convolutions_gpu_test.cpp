// Random convolutions that read their image by im2col loads, with random configs, against the
// reference.
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_convolutions.h"

namespace tcc::test {
namespace {

void check_convolutions(ConvolutionKind kind) {
  int64_t by_im2col = 0;
  check_products(
      "wgmma", [&](std::mt19937_64& random) { return draw_convolution(random, kind); },
      [&](const exec::Executable& executable) { by_im2col += im2col_kernels(executable); });
  if (!::testing::Test::IsSkipped()) { EXPECT_GT(by_im2col, 0); }
}

TEST(Convolutions, OfFloatsAgreeWithTheReference) { check_convolutions(ConvolutionKind::floats); }
TEST(Convolutions, OfBytesAreExact) { check_convolutions(ConvolutionKind::bytes); }
TEST(Convolutions, OfF8AgreeWithTheReference) { check_convolutions(ConvolutionKind::f8); }

}  // namespace
}  // namespace tcc::test
