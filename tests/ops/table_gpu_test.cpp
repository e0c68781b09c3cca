// The op table on the GPUs of this machine.
#include "tests/ops/op_suite.h"

namespace tcc::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Ops);
INSTANTIATE_TEST_SUITE_P(Table, Ops,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::gpu)),
                                            ::testing::ValuesIn(op_names())),
                         op_test_name);

}  // namespace tcc::test
