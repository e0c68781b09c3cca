// Products on matrix units of CUDA whose sizes come at run time.
#include "backends/pipeline.h"
#include "runtime/device.h"
#include "tests/open_products.h"

namespace tcc::test {
namespace {

void check(const char* unit, const char* template_name, const DrawOpen& draw) {
  check_open_products(runtime::open_device("cuda:0"), unit, template_name, draw, 40);
}

TEST(OpenMatrixProducts, OnWgmmaAgreeWithTheReference) {
  check("wgmma", "gemm_sm90", draw_open_product);
}
TEST(OpenMatrixProducts, OnMmaAgreeWithTheReference) {
  check("mma", "gemm_sm80", draw_open_product);
}
TEST(OpenMatrixProducts, ConvolutionsOnWgmmaAgreeWithTheReference) {
  check("wgmma", "gemm_sm90", draw_open_convolution);
}
TEST(OpenMatrixProducts, ConvolutionsOnMmaAgreeWithTheReference) {
  check("mma", "gemm_sm80", draw_open_convolution);
}

}  // namespace
}  // namespace tcc::test
