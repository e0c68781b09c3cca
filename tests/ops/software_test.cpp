// The op table, and f8, on the software devices of this machine (lavapipe).
#include "tests/ops/f8_suite.h"
#include "tests/ops/op_suite.h"

namespace tcc::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Ops);
INSTANTIATE_TEST_SUITE_P(Table, Ops,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::software)),
                                            ::testing::ValuesIn(op_names())),
                         op_test_name);

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(F8);
INSTANTIATE_TEST_SUITE_P(Devices, F8, ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& device) { return test_name(device.param); });

}  // namespace tcc::test
