// Counts launches of one forward pass of the models, whatever the floating-point type.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

struct Case {
  std::string model;
  int64_t launches;  // at most
};

class ModelLaunches : public ::testing::TestWithParam<Case> {};

// Batch norms, activations and residual adds stand in convolutions' and matmuls' epilogues; on CUDA
// a few long products are split.
TEST_P(ModelLaunches, StayFew) {
  const ir::Graph graph =
      load_graph(testing::source_dir() / "configs/models" / (GetParam().model + ".yaml"));
  for (const std::string target : {"vulkan", "cuda:sm_90a"})
    for (const auto dtype : {DType::f32, DType::bf16, DType::f16}) {
      backends::CompileOptions options;
      options.dtype = dtype;
      options.binaries = false;
      const sched::Executable executable =
          backends::compile(graph, sched::target_by_name(target), options);
      EXPECT_LE(executable.launches.size(), static_cast<size_t>(GetParam().launches))
          << target << " " << name(dtype);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelLaunches,
                         ::testing::Values(Case{"mlp", 3}, Case{"transformer-encoder-layer", 10},
                                           Case{"bert-base", 123}, Case{"resnet50", 58},
                                           Case{"vit-b16", 126}),
                         [](const auto& test) {
                           std::string text = test.param.model;
                           std::ranges::replace(text, '-', '_');
                           return text;
                         });

}  // namespace
}  // namespace tcc
