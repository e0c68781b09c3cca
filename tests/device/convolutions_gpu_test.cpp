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

}  // namespace
}  // namespace tcc::test
