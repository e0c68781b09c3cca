// Counts launches of one forward pass of the models, exactly: more are a loss, fewer a reason to
// change the number here and in the README.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/source_dir.h"

namespace tcc {
namespace {

struct Launches {
  size_t f32, bf16, f16;
};

struct Case {
  std::string model;
  std::map<std::string, Launches> targets;
};

// A type has more launches than the others of a target where products of few tiles are split,
// and where attention is faster by products on matrix units than by one kernel on FMA units.
const Case kCases[] = {
    {"mlp",
     {{"vulkan", {4, 4, 4}},
      {"vulkan:nvidia", {3, 3, 3}},
      {"vulkan:lavapipe", {4, 4, 4}},
      {"cuda:sm_80", {3, 3, 3}},
      {"cuda:sm_90a", {3, 3, 3}}}},
    {"transformer-encoder-layer",
     {{"vulkan", {7, 9, 9}},
      {"vulkan:nvidia", {7, 7, 7}},
      {"vulkan:lavapipe", {7, 7, 7}},
      {"cuda:sm_80", {7, 7, 7}},
      {"cuda:sm_90a", {7, 7, 7}}}},
    {"bert-base",
     {{"vulkan", {87, 111, 111}},
      {"vulkan:nvidia", {87, 87, 87}},
      {"vulkan:lavapipe", {87, 87, 87}},
      {"cuda:sm_80", {87, 87, 87}},
      {"cuda:sm_90a", {87, 87, 87}}}},
    {"resnet50",
     {{"vulkan", {56, 56, 56}},
      {"vulkan:nvidia", {59, 56, 56}},
      {"vulkan:lavapipe", {56, 56, 56}},
      {"cuda:sm_80", {61, 57, 57}},
      {"cuda:sm_90a", {56, 57, 57}}}},
    {"vit-b16",
     {{"vulkan", {87, 87, 87}},
      {"vulkan:nvidia", {86, 86, 86}},
      {"vulkan:lavapipe", {86, 110, 110}},
      {"cuda:sm_80", {110, 86, 86}},
      {"cuda:sm_90a", {111, 87, 87}}}},
};

class ModelLaunches : public ::testing::TestWithParam<Case> {};

TEST_P(ModelLaunches, AreAsMany) {
  const ir::Graph graph =
      load_graph(testing::source_dir() / "configs/models" / (GetParam().model + ".yaml"));
  for (const auto& [target, expected] : GetParam().targets)
    for (const auto& [dtype, count] : {std::pair{DType::f32, expected.f32},
                                       {DType::bf16, expected.bf16},
                                       {DType::f16, expected.f16}}) {
      backends::CompileOptions options;
      options.dtype = dtype;
      options.binaries = false;
      const exec::Executable executable =
          backends::compile(graph, sched::target_by_name(target), options);
      EXPECT_EQ(exec::launches(executable).size(), count) << target << " " << name(dtype);
    }
}

// The README's table has rows like "| `bert-base`, batch 1 | 111 | 123 | ...".
TEST_P(ModelLaunches, AreInTheReadme) {
  std::ifstream file(testing::source_dir() / "README.md");
  std::string row;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `" + GetParam().model + "`") && row.empty()) row = line;
  std::istringstream cells(row);
  std::string cell;
  for (int i = 0; i < 2; ++i) std::getline(cells, cell, '|');  // before the row, and the model
  for (const char* target : {"vulkan", "cuda:sm_90a"}) {
    std::getline(cells, cell, '|');
    EXPECT_EQ(cell, " " + std::to_string(GetParam().targets.at(target).f32) + " ") << target;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelLaunches, ::testing::ValuesIn(kCases), [](const auto& test) {
  std::string text = test.param.model;
  std::ranges::replace(text, '-', '_');
  return text;
});

}  // namespace
}  // namespace tcc
