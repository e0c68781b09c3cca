// The ONNX project's backend tests (Debian: libonnx-testdata): a model, its inputs and the outputs
// that are expected of it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::test {

// Where the cases lie: $TCC_ONNX_TESTDATA, or the distribution's place. Empty when they are not
// installed.
std::filesystem::path conformance_folder();

struct ConformanceCase {
  std::string suite, name;  // "node", "test_add"
  std::filesystem::path folder;
};
std::vector<ConformanceCase> conformance_cases();
std::string test_name(const ConformanceCase& c);  // "node_test_add"

// What becomes of a case (tests/onnx/unsupported.yaml).
struct Expectation {
  enum class Outcome : uint8_t { passes, refused, differs };
  Outcome outcome = Outcome::passes;
  std::string reason;  // why it does not pass
};
Expectation expectation(const ConformanceCase& c, bool on_gpus);

// One data set of a case, read for its graph: what becomes a constant of the graph is no input.
struct ConformanceRun {
  ir::Graph graph;
  std::vector<Tensor> inputs, expected;
};
std::vector<std::filesystem::path> data_sets(const ConformanceCase& c);
ConformanceRun load_run(const ConformanceCase& c, const std::filesystem::path& data);

// "" where `out` is as expected, by the rule of the ONNX runner: floats within 1e-7 + 1e-3 *
// |expected|, NaN where NaN is, all else equal.
std::string mismatch(const Tensor& out, const Tensor& expected);

}  // namespace tcc::test
