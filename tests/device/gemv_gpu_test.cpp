// Products of few rows by gemv: any layouts of the large operand, odd sizes, random configs.
#include <string>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "tests/few_rows.h"

namespace tcc::test {
namespace {

struct Used {
  int64_t kernels = 0, shared = 0, reduced = 0, early = 0;
};

Used check_few_rows(const std::string& name, int64_t times) {
  const auto device = runtime::open_device(name);
  Used used;
  const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                count = draws("TCC_PRODUCTS_COUNT", times);
  for (int64_t seed = first; seed < first + count; ++seed) {
    // Rows are reduced by products where launches do not overlap.
    sched::Target target = device->target();
    target.overlapping_launches &= seed % 2 == 0;
    check_product(device, target, static_cast<uint64_t>(seed), draw_few_rows,
                  [&](const exec::Executable& executable) {
                    for (const exec::KernelBinary& kernel : executable.kernels) {
                      if (kernel.template_name != "gemv") continue;
                      const auto has = [&](std::string_view text) {
                        return kernel.source.find(text) != std::string::npos;
                      };
                      ++used.kernels;
                      used.shared += kernel.config.find("cluster=") != std::string::npos &&
                                     kernel.config.find("cluster=1 ") == std::string::npos;
                      used.reduced += has("void start_rows(");
                      used.early += has("fixed_b = true");
                      EXPECT_EQ(kernel.waits, target.overlapping_launches)
                          << "an operand is read before the wait";
                    }
                  });
  }
  EXPECT_GT(used.kernels, 0) << "no product is gemv's";
  EXPECT_GT(used.reduced, 0) << "no rows are reduced";
  return used;
}

TEST(FewRows, AgreeWithTheReference) {
  const Used used = check_few_rows("cuda:0", 120);
  EXPECT_GT(used.early, 0) << "no large operand is fixed";
  if (runtime::open_device("cuda:0")->target().max_cluster > 1) {
    EXPECT_GT(used.shared, 0) << "no sums are a cluster's";
  }
}

TEST(FewRows, AgreeWithTheReferenceOnVulkan) {
  for (const std::string& device : devices_present(Devices::gpu))
    if (device.starts_with("vulkan")) check_few_rows(device, 60);
}

}  // namespace
}  // namespace tcc::test
