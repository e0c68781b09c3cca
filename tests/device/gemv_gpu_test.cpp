// Products of few rows by gemv: any layouts of the large operand, odd sizes, random configs.
#include <string>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/few_rows.h"

namespace tcc::test {
namespace {

TEST(FewRows, AgreeWithTheReference) {
  const auto device = runtime::open_device("cuda:0");
  int64_t used = 0, shared = 0, reduced = 0, early = 0;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                count = number_from("TCC_PRODUCTS_COUNT", 120);
  for (int64_t seed = first; seed < first + count; ++seed) {
    // Rows are reduced by products where launches do not overlap.
    sched::Target target = device->target();
    target.overlapping_launches &= seed % 2 == 0;
    check_product(device, target, static_cast<uint64_t>(seed), draw_few_rows,
                  [&](const exec::Executable& executable) {
                    for (const exec::KernelBinary& kernel : executable.kernels) {
                      if (kernel.template_name != "gemv") continue;
                      ++used;
                      shared += kernel.config.find("cluster=") != std::string::npos &&
                                kernel.config.find("cluster=1 ") == std::string::npos;
                      reduced += kernel.source.find("start_rows(const") != std::string::npos;
                      early += kernel.source.find("fixed_b = true") != std::string::npos;
                      EXPECT_EQ(kernel.waits, target.overlapping_launches)
                          << "an operand is read before the wait";
                    }
                  });
  }
  EXPECT_GT(used, 0) << "no product is gemv's";
  EXPECT_GT(reduced, 0) << "no rows are reduced";
  EXPECT_GT(early, 0) << "no large operand is fixed";
  if (device->target().max_cluster > 1) { EXPECT_GT(shared, 0) << "no sums are a cluster's"; }
}

}  // namespace
}  // namespace tcc::test
