#include "tests/run_graph.h"

namespace tcc::test {
namespace {
constexpr Devices kDevices = Devices::software;
}  // namespace
}  // namespace tcc::test

#include "tests/onnx/conformance_suite.h"
