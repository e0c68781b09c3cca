// The op table on the software devices of this machine (lavapipe).
#include "tests/ops/op_suite.h"

namespace tcc::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Ops);
INSTANTIATE_TEST_SUITE_P(Table, Ops,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::software)),
                                            ::testing::ValuesIn(op_names())),
                         op_test_name);

}  // namespace tcc::test
