// The op table, f8, and copies of narrow floats on the GPUs of this machine.
#include "tests/ops/f8_suite.h"
#include "tests/ops/moved_bits_suite.h"
#include "tests/ops/op_suite.h"

namespace tcc::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Ops);
INSTANTIATE_TEST_SUITE_P(Table, Ops,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::gpu)),
                                            ::testing::ValuesIn(op_names())),
                         op_test_name);

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(F8);
INSTANTIATE_TEST_SUITE_P(Devices, F8, ::testing::ValuesIn(devices_present(Devices::gpu)),
                         [](const auto& device) { return test_name(device.param); });

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MovedBits);
INSTANTIATE_TEST_SUITE_P(Devices, MovedBits, ::testing::ValuesIn(devices_present(Devices::gpu)),
                         [](const auto& device) { return test_name(device.param); });

}  // namespace tcc::test
