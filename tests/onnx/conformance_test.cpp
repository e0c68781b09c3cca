// Every case of the ONNX project's backend tests: read, compiled to kernels, run on the software
// devices, and compiled for CUDA. The cases of unsupported.yaml must be refused, each with one
// line.
#include <gtest/gtest.h>

#include "backends/compile/nvrtc.h"
#include "support/error.h"
#include "tests/onnx/conformance.h"
#include "tests/run_graph.h"

namespace tcc::test {
namespace {

class Conformance : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  void SetUp() override { options_.cache = &cache_; }

  backends::KernelCache cache_{backends::default_cache_folder()};
  backends::CompileOptions options_;

  void run_on(const std::string& device, const ConformanceRun& run) {
    const std::vector<Tensor> outputs = run_on_device(run.graph, device, run.inputs, options_);
    ASSERT_EQ(outputs.size(), run.expected.size());
    for (size_t k = 0; k < outputs.size(); ++k)
      EXPECT_EQ(mismatch(outputs[k], run.expected[k]), "")
          << device << ", output " << run.graph.output_names[k];
  }
};

TEST_P(Conformance, Case) {
  const std::string reason = unsupported_reason(GetParam());
  for (const std::filesystem::path& data : data_sets(GetParam())) {
    if (!reason.empty()) {
      try {
        load_run(GetParam(), data);
        ADD_FAILURE() << "is listed as unsupported (" << reason << "), but was read";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
      continue;
    }
    const ConformanceRun run = load_run(GetParam(), data);
    for (const std::string& device : devices_present(Devices::software)) run_on(device, run);
    if (!backends::nvrtc_missing().empty()) continue;
    EXPECT_NO_THROW(backends::compile(run.graph, sched::target_by_name("cuda:sm_90a"), options_));
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, Conformance, ::testing::ValuesIn(conformance_cases()),
                         [](const auto& instance) { return test_name(instance.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);

}  // namespace
}  // namespace tcc::test
