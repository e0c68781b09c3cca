// The tuner as a library.
#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "tcc/tuner.hpp"

namespace {

using namespace tcc;  // NOLINT: as a user would

constexpr const char* kSoftmax = R"(
tcc: 1
name: softmax
dims: {N: 64}
inputs: {x: {dtype: f32, shape: [N, 96]}}
nodes:
  - {out: y, op: softmax, in: [x], dim: -1}
outputs: [y]
)";

TEST(TunerApi, TunesAGraphAndCompileFindsTheRecords) {
  const backends::TemporaryFolder folder;
  const Graph graph = Graph::from_yaml(kSoftmax);
  int calls = 0;
  TuneOptions options;
  options.trials = 4;
  options.output = folder.path() / "tuned";
  options.log = folder.path() / "trials.jsonl";
  options.isolate = false;
  options.progress = [&](const TunedKernel& kernel) {
    ++calls;
    EXPECT_EQ(kernel.output, "f32[64, 96]");
  };
  const TuneReport report = tune(graph, "null", options);
  ASSERT_EQ(report.kernels.size(), 1u);
  const TunedKernel& kernel = report.kernels[0];
  EXPECT_EQ(kernel.error, "");
  EXPECT_EQ(kernel.kernel_template, "reduction");
  EXPECT_GT(kernel.best_seconds, 0);
  EXPECT_EQ(calls, kernel.trials);
  EXPECT_EQ(report.written.size(), 1u);
  const CompiledGraph compiled = compile(graph, "null", {.tuning = {options.output}});
  ASSERT_EQ(compiled.kernels().size(), 1u);
  EXPECT_EQ(compiled.kernels()[0].tier, "exact");
  EXPECT_EQ(compiled.kernels()[0].config, kernel.best_config);
}

// Precision and rounding are part of a kernel's key: records serve the options that they were tuned with.
TEST(TunerApi, TunesWhatOtherOptionsMake) {
  const Graph graph = Graph::from_yaml(R"(
tcc: 1
name: product
inputs: {x: {dtype: f32, shape: [64, 256]}, w: {dtype: f32, shape: [256, 64]}}
nodes:
  - {out: y, op: matmul, in: [x, w]}
  - {out: z, op: gelu, in: [y]}
outputs: [z]
)");
  const auto tier = [&](CompileOptions options, const std::filesystem::path& records) {
    options.tuning = {records};
    return compile(graph, "null", options).kernels().at(0).tier;
  };
  for (const CompileOptions& options : {CompileOptions{.matmul_precision = "high"},
                                        CompileOptions{.strict_rounding = true}}) {
    const backends::TemporaryFolder folder;
    tune(graph, "null",
         {.compile = options, .trials = 2, .output = folder.path() / "tuned", .isolate = false});
    EXPECT_EQ(tier(options, folder.path() / "tuned"), "exact");
    EXPECT_NE(tier({}, folder.path() / "tuned"), "exact");
  }
}

TEST(TunerApi, RefusesWhatItDoesNotKnow) {
  const Graph graph = Graph::from_yaml(kSoftmax);
  EXPECT_THROW(tune(graph, "null", {.search = "magic"}), Error);
  EXPECT_THROW(tune(graph, "null", {.compile = {.dims = {{"M", 1}}}}), Error);
  EXPECT_THROW(tune(graph, "null", {.compile = {.matmul_precision = "exact"}}), Error);
  EXPECT_THROW(tune(graph, "none:7"), Error);
}

}  // namespace
