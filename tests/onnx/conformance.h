// The ONNX project's backend tests: a model, its inputs and the outputs that are expected of it.
// They come in two releases: the distribution's (Debian: libonnx-testdata), and a newer one that
// `./dev conformance` makes with the onnx package of PyPI.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::test {

inline constexpr const char *kDistributed = "1.12", *kGenerated = "1.23.2";

// The folders of a release's cases. $TCC_ONNX_TESTDATA and $TCC_ONNX_CASES name other folders.
struct ConformanceRelease {
  std::string name;
  std::filesystem::path folder;
};
// Returns the releases whose cases are there.
std::vector<ConformanceRelease> conformance_releases();

struct ConformanceCase {
  std::string release, suite, name;  // "1.12", "node", "test_add"
  std::filesystem::path folder;
};
std::vector<ConformanceCase> conformance_cases();
std::string test_name(const ConformanceCase& c);  // "1_12_node_test_add"

// A case has one of these outcomes.
struct Expectation {
  enum class Outcome : uint8_t { passes, refused, differs };
  Outcome outcome = Outcome::passes;
  std::string reason;  // why it does not pass
};
Expectation expectation(const ConformanceCase& c);

// The entries of tests/onnx/unsupported.yaml.
struct ListedCase {
  std::string name;     // "node/test_add"
  std::string release;  // "": of every release
  Expectation expectation;
  bool is_of(const std::string& other) const { return release.empty() || release == other; }
};
const std::vector<ListedCase>& listed_cases();

// One data set of a case, read for its graph: what becomes a constant of the graph is no input.
struct ConformanceRun {
  ir::Graph graph;
  std::vector<Tensor> inputs, expected;
};
std::vector<std::filesystem::path> data_sets(const ConformanceCase& c);
ConformanceRun load_run(const ConformanceCase& c, const std::filesystem::path& data);

// "" where `out` is as expected, by the rule of the ONNX runner: floats within 1e-7 + 1e-3 *
// |expected| (bf16: 2^-6, f16: 2^-9), NaN where NaN is, all else equal.
std::string mismatch(const Tensor& out, const Tensor& expected);

}  // namespace tcc::test
