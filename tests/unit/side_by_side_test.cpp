// Element-wise parts of one product that share a launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/target.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::test {
namespace {

ir::Graph graph_of(const std::string& nodes, int64_t columns = 96) {
  return parse_yaml_graph(
             str("tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [3, 40]}, w: {dtype: f32, "
                 "shape: "
                 "[40, ",
                 columns, "]}}\nnodes:\n  - {out: p, op: matmul, in: [x, w]}\n", nodes),
             "g.yaml", ".")
      .bind({});
}

std::vector<std::string> templates_of(const ir::Graph& graph, const std::string& target) {
  backends::CompileOptions options;
  options.binaries = false;
  std::vector<std::string> names;
  for (const exec::KernelBinary& kernel :
       backends::compile(graph, sched::target_by_name(target), options).kernels)
    names.push_back(kernel.template_name);
  return names;
}

int64_t count_of(const std::vector<std::string>& names, const char* name) {
  return std::ranges::count(names, name);
}

constexpr const char* kSlices =
    "  - {out: a, op: slice, in: [p], dim: 1, end: 64}\n"
    "  - {out: b, op: slice, in: [p], dim: 1, start: 64, end: 96}\n";

TEST(SideBySide, PartsOfOneProductAreOneLaunch) {
  for (const char* target : {"vulkan", "cuda:sm_90a"}) {
    const auto names = templates_of(
        graph_of(str(kSlices, "  - {out: y, op: sin, in: [a]}\n  - {out: z, op: cos, in: [b]}\n",
                     "outputs: [y, z]\n")),
        target);
    EXPECT_EQ(names.size(), 2u) << target;
    EXPECT_EQ(count_of(names, "side_by_side"), 1) << target;
  }
}

TEST(SideBySide, PartsThatReadEachOtherStayApart) {
  const auto names =
      templates_of(graph_of(str(kSlices,
                                "  - {out: y, op: sin, in: [a]}\n"
                                "  - {out: s, op: softmax, in: [y], dim: 1}\n"
                                "  - {out: t, op: slice, in: [s], dim: 1, end: 32}\n"
                                "  - {out: z, op: mul, in: [b, t]}\noutputs: [y, z]\n")),
                   "vulkan");
  EXPECT_EQ(count_of(names, "side_by_side"), 0);
}

TEST(SideBySide, PartsOfTwoProductsStayApart) {
  const auto names =
      templates_of(graph_of(str(kSlices,
                                "  - {out: n, op: softmax, in: [p], dim: 0}\n"
                                "  - {out: t, op: permute, in: [w], dims: [1, 0]}\n"
                                "  - {out: q, op: matmul, in: [n, t]}\n"
                                "  - {out: c, op: slice, in: [q], dim: 1, end: 16}\n"
                                "  - {out: y, op: sin, in: [a]}\n  - {out: z, op: cos, in: [c]}\n"
                                "outputs: [y, z]\n")),
                   "vulkan");
  EXPECT_EQ(count_of(names, "side_by_side"), 0);
}

// Random parts, odd sizes, any config, against the reference.
TEST(SideBySide, AgreesWithTheReference) {
  int64_t used = 0;
  for (const std::string& name : devices_present(Devices::software)) {
    const auto device = open_once(name);
    for (uint64_t seed = 1; seed <= 24; ++seed) {
      std::mt19937_64 random(seed);
      std::string nodes, outputs;
      int64_t columns = 0;
      const uint64_t parts = 2 + random() % 3;
      for (uint64_t i = 0; i < parts; ++i) {
        constexpr int64_t kWidths[] = {1, 2, 7, 32, 33, 64, 100};
        constexpr const char* kOps[] = {"sin", "relu", "sigmoid", "exp"};
        const int64_t width = kWidths[random() % std::size(kWidths)];
        nodes += str("  - {out: s", i, ", op: slice, in: [p], dim: 1, start: ", columns,
                     ", end: ", columns + width, "}\n  - {out: y", i, ", op: ", kOps[random() % 4],
                     ", in: [s", i, "]}\n");
        if (random() % 2)
          nodes += str("  - {out: t", i, ", op: permute, in: [y", i, "], dims: [1, 0]}\n"),
              outputs += str(outputs.empty() ? "" : ", ", "t", i);
        else
          outputs += str(outputs.empty() ? "" : ", ", "y", i);
        columns += width;
      }
      const ir::Graph graph = graph_of(nodes + "outputs: [" + outputs + "]\n", columns);
      const RandomConfigs configs(seed, {});
      backends::CompileOptions options;
      if (seed % 3 != 0) options.configs = &configs;
      exec::Executable executable = backends::compile(graph, device->target(), options);
      used += std::ranges::count(executable.kernels, "side_by_side",
                                 &exec::KernelBinary::template_name);
      const std::vector<Tensor> inputs = draw_inputs(graph, {.lo = -1, .hi = 1, .seed = seed});
      runtime::Context context(
          std::make_shared<const runtime::Program>(device, std::move(executable)));
      EXPECT_EQ(compare_with_reference(graph, inputs, context.run(inputs), {}), "") << seed << "\n"
                                                                                    << nodes;
    }
  }
  if (!devices_present(Devices::software).empty()) { EXPECT_GT(used, 5); }
}

}  // namespace
}  // namespace tcc::test
