// The suite over the ONNX project's backend tests, for the devices that `kDevices` of the including
// file names: every case is read, compiled to kernels and run; software devices stand for machines
// without a GPU, where the kernels are compiled for CUDA, too. The cases of unsupported.yaml must
// be refused, each with one line, or differ.
#pragma once

#include <algorithm>

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

  backends::KernelCache cache_{default_cache_folder()};
  backends::CompileOptions options_;

  // "" where every output is as expected.
  std::string difference(const std::string& device, const ConformanceRun& run) {
    const std::vector<Tensor> outputs = run_on_device(run.graph, device, run.inputs, options_);
    if (outputs.size() != run.expected.size()) return str(outputs.size(), " outputs");
    std::string text;
    for (size_t k = 0; k < outputs.size(); ++k)
      if (const std::string reason = mismatch(outputs[k], run.expected[k]); !reason.empty())
        text += str(device, ", output ", run.graph.output_names[k], ": ", reason, "\n");
    return text;
  }
};

void expect_refused(const ConformanceCase& c, const std::filesystem::path& data) {
  try {
    load_run(c, data);
    ADD_FAILURE() << "is listed as refused, but was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST_P(Conformance, Case) {
  const Expectation expected = expectation(GetParam());
  SCOPED_TRACE(expected.reason);
  for (const std::filesystem::path& data : data_sets(GetParam())) {
    if (expected.outcome == Expectation::Outcome::refused) {
      expect_refused(GetParam(), data);
      continue;
    }
    const ConformanceRun run = load_run(GetParam(), data);
    for (const std::string& device : devices_present(kDevices)) {
      std::string text;
      try {
        text = difference(device, run);
      } catch (const Error& error) { text = error.what(); }
      if (expected.outcome == Expectation::Outcome::differs)
        EXPECT_NE(text, "") << "is listed as different, but passes on " << device;
      else
        EXPECT_EQ(text, "");
    }
    if (kDevices == Devices::gpu || !backends::nvrtc_missing().empty()) continue;
    EXPECT_NO_THROW(backends::compile(run.graph, sched::target_by_name("cuda:sm_90a"), options_));
  }
}

// A name in unsupported.yaml that no case has would hide nothing, and count in the docs.
TEST(ConformanceList, NamesCasesThatExist) {
  const std::vector<ConformanceCase> cases = conformance_cases();
  for (const ConformanceRelease& release : conformance_releases())
    for (const ListedCase& listed : listed_cases()) {
      if (!listed.is_of(release.name)) continue;
      const bool found = std::ranges::any_of(cases, [&](const ConformanceCase& c) {
        return c.release == release.name && c.suite + "/" + c.name == listed.name;
      });
      EXPECT_TRUE(found) << listed.name << " is no case of release " << release.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Onnx, Conformance, ::testing::ValuesIn(conformance_cases()),
                         [](const auto& instance) { return test_name(instance.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);

}  // namespace
}  // namespace tcc::test
