// Convolutions on gemm_sm90 whose image comes by im2col loads: which regions are read so, and that
// random ones compile with random configs.
#include "scheduler/templates/conv_gemm.h"

#include "backends/device/common/gemm_sm90_shape.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/cubin.h"
#include "tests/random_convolutions.h"

namespace tcc::test {
namespace {

TEST(ConvGemm, RandomConvolutionsCompileWithoutSpills) {
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  int64_t by_im2col = 0, count = number_from("TCC_PRODUCTS_COUNT", 8),
          first = number_from("TCC_PRODUCTS_SEED", 1);
  for (const ConvolutionKind kind :
       {ConvolutionKind::floats, ConvolutionKind::bytes, ConvolutionKind::f8})
    for (int64_t seed = first; seed < first + count; ++seed) {
      std::mt19937_64 random(static_cast<uint64_t>(seed));
      const Product product = draw_convolution(random, kind);
      backends::CompileOptions options;
      const RandomConfigs configs(static_cast<uint64_t>(seed));
      if (seed % 4 != 0) options.configs = &configs;
      if (product.tf32)
        options.matmul_precision = backends::MatmulPrecision::high;
      else if (!product.dtype.empty())
        options.dtype = product.dtype == "f16" ? DType::f16 : DType::bf16;
      const exec::Executable executable =
          backends::compile(parse_yaml_graph(product.text, "conv.yaml", "."), target, options);
      const int64_t images = im2col_kernels(executable);
      by_im2col += images;
      for (const exec::KernelBinary& kernel : executable.kernels)
        if (kernel.source.find(".load = Load::im2col;") != std::string::npos) {
          EXPECT_EQ(frame_bytes(kernel.code), 0) << seed << " " << kernel.config << product.text;
        }
    }
  EXPECT_GT(by_im2col, count);
}

}  // namespace
}  // namespace tcc::test
