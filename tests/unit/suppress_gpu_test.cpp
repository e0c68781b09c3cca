// Suppression of boxes on the GPUs of this machine.
#include "backends/pipeline.h"
#include "runtime/program.h"
#include "tests/unit/suppress_suite.h"

namespace tcc::test::suppress {
namespace {

class ManyBoxes : public SuppressOnDevices {};

TEST_P(ManyBoxes, AreThePlainLoop) {
  for (const Specials specials : {Specials::none, Specials::some})
    EXPECT_EQ(difference(random_boxes(1, 25200, false, specials, 9), false, 0.45F), "");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SuppressOnDevices);
INSTANTIATE_TEST_SUITE_P(Gpus, SuppressOnDevices,
                         ::testing::ValuesIn(devices_present(Devices::gpu)),
                         [](const auto& of) { return test_name(of.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ManyBoxes);
INSTANTIATE_TEST_SUITE_P(Gpus, ManyBoxes, ::testing::ValuesIn(devices_present(Devices::gpu)),
                         [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace tcc::test::suppress
