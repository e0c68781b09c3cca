// Tests the semantics of floats on the GPUs of this machine.
#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "ir/reference/interpreter.h"
#include "runtime/program.h"
#include "tests/ops/float_suite.h"

namespace tcc::test {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FloatOps);
INSTANTIATE_TEST_SUITE_P(Table, FloatOps,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::gpu)),
                                            ::testing::ValuesIn(op_names())),
                         float_op_test_name);

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FloatTricks);
INSTANTIATE_TEST_SUITE_P(Devices, FloatTricks,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::gpu)),
                                            ::testing::ValuesIn(float_types()), float_modes()),
                         trick_test_name);

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FloatRows);
INSTANTIATE_TEST_SUITE_P(Devices, FloatRows,
                         ::testing::Combine(::testing::ValuesIn(devices_present(Devices::gpu)),
                                            ::testing::ValuesIn(float_types())),
                         row_test_name);

}  // namespace tcc::test
