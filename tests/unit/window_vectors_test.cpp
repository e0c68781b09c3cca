// Pooling and depthwise convolutions of channels that are last, in vectors of channels and of
// neighbouring pixels: right on software devices, and sharing loads.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/target_profile.h"
#include "scheduler/tuning.h"
#include "support/error.h"
#include "tests/run_graph.h"

namespace tcc {
namespace {

std::string windows(const std::string& inputs, const std::string& node) {
  return str("tcc: 1\ninputs: {", inputs,
             "}\nnodes:\n  - {out: xc, op: permute, in: [x], dims: [0, 3, 1, 2]}\n  - {out: c, ",
             node, "}\n  - {out: y, op: permute, in: [c], dims: [0, 2, 3, 1]}\noutputs: [y]\n");
}

void check(const std::string& inputs, const std::string& node) {
  const ir::Graph graph = parse_yaml_graph(windows(inputs, node), "graph.yaml", ".").bind({});
  const std::vector<Tensor> given = test::draw_inputs(graph, {.lo = -1, .hi = 1});
  for (const std::string& device : test::devices_present(test::Devices::software))
    for (const int64_t vector : {1, 4, 8})
      for (const int64_t vectors : {1, 2, 4}) {
        const sched::FixedConfig config(
            {{"threads", 64}, {"vector", vector}, {"vectors", vectors}});
        backends::CompileOptions options;
        options.configs = &config;
        EXPECT_EQ(test::difference(graph, device, given, options), "")
            << node << ": " << vectors << " vectors of " << vector;
      }
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Four pixels of 3 x 3 windows have six columns: a row of them is loaded once, and so are the
// weights.
TEST(WindowVectors, NeighboursShareLoads) {
  const std::string text =
      windows("x: {dtype: f32, shape: [8, 56, 56, 64]}, w: {dtype: f32, shape: [64, 1, 3, 3]}",
              "op: conv2d, in: [xc, w], groups: 64, padding: 1");
  std::string shared = text;
  const std::string weight = "w: {dtype: f32, shape: [64, 1, 3, 3]}";
  shared.erase(shared.find(", " + weight), weight.size() + 2);
  shared.insert(shared.find("nodes:"),
                "weights: {w: {dtype: f32, shape: [64, 1, 3, 3], init: {normal: 1}}}\n");
  const sched::FixedConfig config({{"threads", 128}, {"vector", 4}, {"vectors", 4}});
  backends::CompileOptions options;
  options.configs = &config;
  options.binaries = false;
  sched::Target target = sched::target_by_name("cuda:sm_90a");
  target.serial_workgroups = true;  // others have a template of their own for it
  const exec::Executable executable =
      backends::compile(parse_yaml_graph(shared, "graph.yaml", "."), target, options);
  ASSERT_EQ(executable.kernels.size(), 1u);
  const exec::KernelBinary& kernel = executable.kernels[0];
  EXPECT_EQ(kernel.template_name, "pointwise");
  EXPECT_EQ(count(kernel.source, "((const uint4*)b0)["), 6u) << kernel.source;
  EXPECT_EQ(count(kernel.source, "((const uint4*)b1)["), 3u);
  const std::string body = kernel.source.substr(kernel.source.find("extern \"C\""));
  EXPECT_EQ(count(body, "tcc_fma_f32("), 12u);
}

TEST(WindowVectors, DepthwiseConvolutionsAreRight) {
  struct Case {
    const char *dtype, *weight, *attrs;
  };
  for (const Case& c :
       {Case{"f32", "3, 3", "padding: 1"}, Case{"bf16", "5, 3", "padding: [2, 1], stride: 2"},
        Case{"f32", "2, 4", "dilation: 2"}, Case{"f16", "1, 1", "stride: [3, 1]"}})
    check(str("x: {dtype: ", c.dtype, ", shape: [2, 9, 12, 24]}, w: {dtype: ", c.dtype,
              ", shape: [24, 1, ", c.weight, "]}"),
          str("op: conv2d, in: [xc, w], groups: 24, ", c.attrs));
}

TEST(WindowVectors, PoolsAreRight) {
  for (const char* attrs :
       {"op: max_pool2d, in: [xc], kernel_size: [3, 3], stride: [2, 2], padding: [1, 1]",
        "op: avg_pool2d, in: [xc], kernel_size: [2, 3], stride: [1, 1]",
        "op: max_pool2d, in: [xc], kernel_size: [5, 1], stride: [1, 2]"}) {
    check("x: {dtype: f32, shape: [2, 9, 13, 16]}", attrs);
    check("x: {dtype: f16, shape: [1, 10, 8, 17]}", attrs);  // odd channels
  }
}

}  // namespace
}  // namespace tcc
