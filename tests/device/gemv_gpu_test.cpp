// Products of few rows by gemv: any layouts of the large operand, odd sizes, random configs.
#include <string>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/random_products.h"

namespace tcc::test {
namespace {

Product draw_few_rows(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<int64_t> from) { return test::pick(random, from); };
  const int64_t m = pick({1, 1, 1, 2, 3, 4}), n = pick({64, 127, 256, 512, 1000, 2048}),
                k = pick({64, 129, 512, 768, 1023, 2048, 4096});
  const bool turned = random() % 4 == 0, swapped = random() % 4 == 0;
  const std::string x = swapped ? str(k, ", ", m) : str(m, ", ", k),
                    w = turned != swapped ? str(n, ", ", k) : str(k, ", ", n);
  Product product;
  const int64_t dtype = pick({0, 1, 2});
  product.dtype = dtype == 0 ? "" : dtype == 1 ? "f16" : "bf16";
  product.text = str("tcc: 1\nname: few_rows\ninputs:\n  x: {dtype: f32, shape: [", x,
                     "]}\n  w: {dtype: f32, shape: [", w, "]}\n  bias: {dtype: f32, shape: [",
                     swapped ? str(n, ", 1") : str(n), "]}\nnodes:\n");
  std::string large = "w";
  if (turned) {
    product.text += "  - {out: wt, op: permute, in: [w], dims: [1, 0]}\n";
    large = "wt";
  }
  product.text += "  - {out: p, op: matmul, in: [" + (swapped ? large + ", x" : "x, " + large) +
                  "]}\n  - {out: s, op: add, in: [p, bias]}\n  - {out: r, op: relu, in: [s]}\n"
                  "outputs: [r]\n";
  return product;
}

TEST(FewRows, AgreeWithTheReference) {
  const auto device = runtime::open_device("cuda:0");
  int64_t used = 0, shared = 0;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                count = number_from("TCC_PRODUCTS_COUNT", 120);
  for (int64_t seed = first; seed < first + count; ++seed)
    check_product(device, device->target(), static_cast<uint64_t>(seed), draw_few_rows,
                  [&](const exec::Executable& executable) {
                    for (const exec::KernelBinary& kernel : executable.kernels) {
                      used += kernel.template_name == "gemv";
                      shared += kernel.template_name == "gemv" &&
                                kernel.config.find("cluster=") != std::string::npos &&
                                kernel.config.find("cluster=1 ") == std::string::npos;
                    }
                  });
  EXPECT_GT(used, 0) << "no product is gemv's";
  if (device->target().max_cluster > 1) { EXPECT_GT(shared, 0) << "no sums are a cluster's"; }
}

}  // namespace
}  // namespace tcc::test
