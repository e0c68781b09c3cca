// Transposed convolutions in phases: that they compute the same, also of what is no number, and
// where they are taken.
#include "scheduler/conv_phases.h"

#include <gtest/gtest.h>

#include <limits>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/same_values.h"

namespace tcc {
namespace {

std::string conv(const std::string& image, const std::string& weight, const std::string& attrs) {
  return str("tcc: 1\nname: conv\ninputs: {x: {dtype: f32, shape: [", image,
             "]}, w: {dtype: f32, shape: [", weight,
             "]}}\nnodes:\n  - {out: y, op: convolution, in: [x, w]", attrs, "}\noutputs: [y]\n");
}

// The graph with each convolution in phases that has them.
ir::Graph in_phases(const ir::Graph& given) {
  ir::Graph graph = given.clone();
  ir::rewrite_nodes(graph, [](ir::Builder& b, const ir::Node& node) -> ir::Replacement {
    if (node.op_name() != "convolution" || !sched::has_phases(node)) return {};
    return {sched::in_phases(b, node)};
  });
  ir::verify(graph);
  return graph;
}

int64_t convolutions(const ir::Graph& graph) {
  return std::ranges::count_if(graph.nodes(),
                               [](const auto& node) { return node->op_name() == "convolution"; });
}

struct Case {
  const char *image, *weight, *attributes;
  int64_t convolutions;
};

constexpr Case kCases[] = {
    {"2, 3, 5", "4, 3, 4", ", input_dilation: 2, padding: 2", 2},
    {"2, 3, 5", "4, 3, 3", ", input_dilation: 2, padding: [1, 2]", 2},
    {"2, 3, 5", "4, 3, 2", ", input_dilation: 2, padding: 1", 1},  // each output has one tap
    {"1, 2, 4, 6", "6, 2, 2, 2", ", input_dilation: 2, padding: 1", 1},
    {"1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2, padding: 1", 4},
    {"1, 2, 4, 6", "6, 2, 5, 4", ", input_dilation: [3, 2], padding: [4, 1, 0, 5]", 6},
    {"1, 2, 4, 6", "6, 2, 3, 4", ", input_dilation: [1, 2], padding: 1", 1},
    {"1, 2, 4, 6", "6, 2, 1, 1", ", input_dilation: 2", 1},  // three phases are zero
    {"1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2, padding: [-1, 0, -2, 3]", 4},
    {"2, 6, 4, 5", "4, 3, 2, 2", ", input_dilation: 2, padding: 1, groups: 2", 1},
    {"2, 6, 4, 5", "4, 3, 3, 3", ", input_dilation: 2, padding: 2, groups: 2", 4},
    {"1, 2, 3, 2, 4", "3, 2, 2, 3, 2", ", input_dilation: [2, 1, 2], padding: 1", 1},
    {"1, 2, 1, 1", "3, 2, 4, 4", ", input_dilation: 2, padding: 3", 1},
};

TEST(ConvPhases, ComputeTheSame) {
  for (const Case& of : kCases) {
    const ir::Graph given =
        parse_yaml_graph(conv(of.image, of.weight, of.attributes), "conv.yaml", ".").bind({});
    const ir::Graph phased = in_phases(given);
    EXPECT_EQ(convolutions(phased), of.convolutions) << of.attributes;
    std::vector<ir::RefTensor> values = test::draw_values(given, {.lo = -1, .hi = 1, .seed = 5});
    // Infinities and NaN reach the same outputs. Weights are finite: see in_phases().
    values[0].f[1] = std::numeric_limits<double>::infinity();
    values[0].f[values[0].f.size() / 2] = std::numeric_limits<double>::quiet_NaN();
    test::expect_same_values(given, phased, values, str(of.attributes, " "));
  }
}

// Constants that are made of one weight have names of their own.
TEST(ConvPhases, MayShareAWeight) {
  const ir::Graph given =
      parse_yaml_graph(
          "tcc: 1\nname: shared\ninputs: {x: {dtype: f32, shape: [1, 2, 4, 6]}}\n"
          "weights: {w: {dtype: f32, shape: [6, 2, 3, 3], init: {normal: 0.1}}}\nnodes:\n"
          "  - {out: y, op: convolution, in: [x, w], input_dilation: 2, padding: 1}\n"
          "  - {out: t, op: neg, in: [x]}\n"
          "  - {out: z, op: convolution, in: [t, w], input_dilation: 2, padding: 2}\noutputs: [y, "
          "z]\n",
          "conv.yaml", ".")
          .bind({});
  EXPECT_EQ(convolutions(in_phases(given)), 8);
}

TEST(ConvPhases, AreOfSpreadImagesAlone) {
  const auto has = [](const std::string& text) {
    const ir::Graph graph = parse_yaml_graph(text, "conv.yaml", ".").bind({});
    return sched::has_phases(*graph.nodes().front());
  };
  EXPECT_TRUE(has(conv("1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2")));
  EXPECT_FALSE(has(conv("1, 2, 4, 6", "6, 2, 3, 3", "")));
  EXPECT_FALSE(has(conv("1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2, stride: 2")));
  EXPECT_FALSE(has(conv("1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2, dilation: 2")));
  EXPECT_FALSE(has(conv("1, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 5")));  // 25 of them
  EXPECT_FALSE(has(conv("0, 2, 4, 6", "6, 2, 3, 3", ", input_dilation: 2")));
}

// Returns the kernels of a target.
std::vector<exec::KernelBinary> kernels_of(const std::string& text, const char* target) {
  backends::CompileOptions options;
  options.binaries = false;
  return backends::compile(parse_yaml_graph(text, "conv.yaml", "."), sched::target_by_name(target),
                           options)
      .kernels;
}

std::string transposed(int64_t kernel, int64_t padding, const char* dtype) {
  return str("tcc: 1\nname: up\ninputs: {x: {dtype: ", dtype,
             ", shape: [8, 32, 32, 256]}}\nweights: {w: {dtype: ", dtype, ", shape: [256, 128, ",
             kernel, ", ", kernel,
             "], init: {normal: 0.05}}}\nnodes:\n"
             "  - {out: i, op: permute, in: [x], dims: [0, 3, 1, 2]}\n"
             "  - {out: c, op: conv_transpose2d, in: [i, w], stride: 2, padding: ",
             padding,
             "}\n  - {out: r, op: relu, in: [c]}\n"
             "  - {out: y, op: permute, in: [r], dims: [0, 2, 3, 1]}\noutputs: [y]\n");
}

TEST(ConvPhases, AreTakenByAllTargets) {
  for (const char* target : {"cuda:sm_90a", "cuda:sm_80", "vulkan:nvidia", "vulkan"})
    for (const char* dtype : {"bf16", "f32"}) {
      // Windows as long as the step are one product, whose results are relu's in other places.
      EXPECT_EQ(kernels_of(transposed(2, 0, dtype), target).size(), 2U) << target << dtype;
      EXPECT_EQ(kernels_of(transposed(4, 1, dtype), target).size(), 5U) << target << dtype;
    }
}

}  // namespace
}  // namespace tcc
