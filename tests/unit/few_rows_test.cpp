// Products of few rows by gemv on software devices, whose subgroups are narrow: any layouts of the
// large operand, odd sizes, rows that are reduced before, random configs.
#include <gtest/gtest.h>

#include <string>

#include "runtime/device.h"
#include "tests/few_rows.h"
#include "tests/run_graph.h"

namespace tcc::test {
namespace {

TEST(FewRows, AgreeWithTheReferenceOnNarrowSubgroups) {
  for (const std::string& name : devices_present(Devices::software)) {
    if (!name.starts_with("vulkan")) continue;
    const auto device = runtime::open_device(name);
    int64_t used = 0, reduced = 0;
    const int64_t first = number_from("TCC_PRODUCTS_SEED", 1),
                  count = draws("TCC_PRODUCTS_COUNT", 24);
    for (int64_t seed = first; seed < first + count; ++seed)
      check_product(device, device->target(), static_cast<uint64_t>(seed), draw_few_rows,
                    [&](const exec::Executable& executable) {
                      for (const exec::KernelBinary& kernel : executable.kernels) {
                        used += kernel.template_name == "gemv";
                        reduced += kernel.template_name == "gemv" &&
                                   kernel.source.find("void start_rows(") != std::string::npos;
                      }
                    });
    EXPECT_GT(used, 0) << "no product is gemv's";
    EXPECT_GT(reduced, 0) << "no rows are reduced";
  }
}

}  // namespace
}  // namespace tcc::test
