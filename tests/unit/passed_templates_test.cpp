// Regions say why they have no kernel of another template.
#include "scheduler/passed_templates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/template.h"

namespace tcc {
namespace {

using Lines = std::vector<std::string>;

struct Explained {
  Lines passed;  // of the template's regions, or of all
  Lines apart;   // sets of nodes that are not one kernel
};

Explained explained(const std::string& text, const std::string& target,
                    std::string_view kernel_template = "", backends::CompileOptions options = {}) {
  Explained result;
  options.explain_fusion = [&](const std::string& line) {
    if (line.find(" is not one kernel: ") != line.npos) result.apart.push_back(line);
  };
  const ir::Graph graph = parse_yaml_graph("tcc: 1\nname: g\n" + text, "g.yaml", ".");
  const backends::Scheduled scheduled =
      backends::schedule(graph, sched::target_by_name(target), options);
  for (const sched::ScheduledRegion& region : scheduled.regions)
    if (kernel_template.empty() || region.candidate().kernel_template().name() == kernel_template)
      for (std::string& line : sched::passed_templates(region.candidate()))
        result.passed.push_back(std::move(line));
  return result;
}

// The lines that begin so.
Lines about(const Lines& lines, std::string_view beginning) {
  Lines found;
  std::ranges::copy_if(lines, std::back_inserter(found),
                       [&](const std::string& line) { return line.starts_with(beginning); });
  return found;
}

std::string attention(const std::string& query, const std::string& key, const std::string& rest) {
  return "inputs: {q: {" + query + "}, k: {" + key + "}, v: {" + key + "}}\nnodes: [" + rest +
         "]\noutputs: [a]\n";
}

TEST(PassedTemplates, AttentionOnMatrixUnits) {
  const std::string op = "{out: a, op: scaled_dot_product_attention, in: [q, k, v]}";
  const std::string plain = "dtype: bf16, shape: [1, 4, 1024, 64]";
  EXPECT_EQ(explained(attention(plain, plain, op), "cuda:sm_90a", "attention_sm90").passed,
            Lines{});
  const std::string narrow = "dtype: bf16, shape: [1, 4, 1024, 36]";
  EXPECT_EQ(explained(attention(narrow, narrow, op), "cuda:sm_90a", "attention_sm80").passed,
            Lines{"attention_sm90: rows of keys are no whole vectors of 16 bytes in memory"});
  const std::string one = "dtype: bf16, shape: [1, 4, 1, 64]";
  EXPECT_EQ(explained(attention(one, plain, op), "cuda:sm_90a", "attention_sm80").passed,
            Lines{"attention_sm90: 1 queries, too few for 64 rows"});
  const std::string f8 = "dtype: f8e4m3, shape: [1, 4, 1024, 64]";
  EXPECT_EQ(explained(attention(plain, f8,
                                "{out: k1, op: cast, in: [k], dtype: bf16}, {out: v1, op: cast, "
                                "in: [v], dtype: bf16}, {out: a, op: "
                                "scaled_dot_product_attention, in: [q, k1, v1]}"),
                      "cuda:sm_90a", "attention_sm80")
                .passed,
            Lines{"attention_sm90: keys are computed, and no elements in memory"});
}

TEST(PassedTemplates, AttentionOnFmaUnits) {
  const std::string large = "dtype: f32, shape: [1, 32, 16384, 64]";
  EXPECT_EQ(
      explained(
          attention(large, large, "{out: a, op: scaled_dot_product_attention, in: [q, k, v]}"),
          "cuda:sm_90a", "attention")
          .passed,
      (Lines{"attention_sm90: queries of f32, and attention on these matrix units takes f16 and "
             "bf16 alone",
             "attention_sm80: queries of f32, which matrix units read as tf32, with "
             "--matmul-precision high"}));
  // Kernels of their own, by the estimate: it is of one kernel on FMA units.
  const std::string some = "dtype: f32, shape: [2, 16, 1024, 64]";
  const Lines apart =
      explained(attention(some, some, "{out: a, op: scaled_dot_product_attention, in: [q, k, v]}"),
                "cuda:sm_90a")
          .apart;
  ASSERT_EQ(apart.size(), 1u);
  EXPECT_NE(apart[0].find("cost: one kernel (attention) would take"), std::string::npos);
  EXPECT_NE(apart[0].find("; not attention_sm90: queries of f32"), std::string::npos) << apart[0];
}

std::string convolution(const std::string& image, const std::string& weight,
                        const std::string& attributes) {
  return "inputs: {x: {dtype: bf16, shape: " + image +
         "}}\nweights: {w: {dtype: bf16, shape: " + weight +
         ", init: {normal: 0.1}}}\nnodes: [{out: y, op: convolution, in: [x, w]" + attributes +
         "}]\noutputs: [y]\n";
}

TEST(PassedTemplates, ProductsOnFmaUnits) {
  const Lines large =
      explained(
          "inputs: {x: {dtype: f32, shape: [64, 256, 28, 28]}, w: {dtype: f32, shape: [256, 256, "
          "3, "
          "3]}}\nnodes: [{out: y, op: convolution, in: [x, w], padding: [1, 1, 1, 1]}]\noutputs: "
          "[y]\n",
          "cuda:sm_90a", "contraction")
          .passed;
  EXPECT_EQ(about(large, "gemm_sm"),
            (Lines{"gemm_sm90: wgmma units do not multiply f32, but read it as tf32 with "
                   "--matmul-precision high",
                   "gemm_sm80: mma units do not multiply f32, but read it as tf32 with "
                   "--matmul-precision high"}));
  EXPECT_EQ(about(large, "fma_sm90: "),
            Lines{"fma_sm90: weight is not made of tiles that bulk copies bring"});
  const Lines one = explained(
                        "inputs: {a: {dtype: f16, shape: [1, 1]}, b: {dtype: f16, shape: [1, 1]}}\n"
                        "nodes: [{out: y, op: matmul, in: [a, b]}]\noutputs: [y]\n",
                        "cuda:sm_90a", "contraction")
                        .passed;
  EXPECT_EQ(about(one, "gemm_sm90: "),
            Lines{"gemm_sm90: 1 product, 1 in a sum, is too few for wgmma units"});
}

TEST(PassedTemplates, DepthwiseConvolutions) {
  for (const std::string target : {"cuda:sm_90a", "cuda:sm_80"}) {
    const Lines passed = explained(convolution("[2, 32, 8, 8, 8, 2]", "[32, 1, 3, 3, 3, 1]",
                                               ", groups: 32, padding: [1, 1, 1, 0, 1, 1, 1, 0]"),
                                   target, "pointwise")
                             .passed;
    EXPECT_EQ(about(passed, "depthwise: ").size(), 1u) << target;
    EXPECT_EQ(about(passed, "depthwise_sm80: ").size(), 1u) << target;
  }
  // Templates of depthwise convolutions say nothing about other regions.
  const Lines others =
      explained(
          "inputs: {x: {dtype: f32, shape: [64, 64]}}\nnodes: [{out: y, op: relu, in: "
          "[x]}]\noutputs: [y]\n",
          "cuda:sm_90a")
          .passed;
  EXPECT_EQ(others, Lines{});
}

std::string layer(const std::string& op, int64_t gates, int64_t hidden, const std::string& dtype,
                  const std::string& attributes = "") {
  const auto input = [&](const char* name, const std::string& shape) {
    return str(name, ": {dtype: ", dtype, ", shape: [", shape, "]}");
  };
  return str(
      "inputs: {", input("x", "32, 64, 16"), ", ", input("w", str("1, ", gates * hidden, ", 16")),
      ", ", input("r", str("1, ", gates * hidden, ", ", hidden)),
      "}\nnodes: [{out: [y, h], op: ", op, ", in: [x, w, r]", attributes, "}]\noutputs: [h]\n");
}

TEST(PassedTemplates, RecurrentLayers) {
  // The state's type is no template's, and all of them say so at once.
  const Lines f64 = explained(layer("rnn", 1, 32, "f64"), "cuda:sm_90a").apart;
  EXPECT_EQ(f64, Lines{"rnn_steps (y) is not one kernel: recurrent, recurrent_grid, "
                       "recurrent_steps: a state of f64, where f32 is kept"});
  // One launch a step: why not one for all.
  const Lines large =
      explained(layer("lstm", 4, 2048, "bf16"), "cuda:sm_90a", "recurrent_steps").passed;
  EXPECT_EQ(about(large,
                  "recurrent_grid: the weights of 2048 hidden units and 1 direction do not "
                  "fit the workgroups of")
                .size(),
            1u);
  EXPECT_EQ(about(large, "recurrent: all steps in one kernel take about").size(), 1u);
  // Layers whose steps are unrolled say so, too.
  const Lines unrolled = explained(layer("lstm", 4, 512, "f32"), "vulkan").apart;
  ASSERT_EQ(unrolled.size(), 1u);
  EXPECT_TRUE(unrolled[0].starts_with("lstm_steps (y) is not one kernel: recurrent: "))
      << unrolled[0];
  EXPECT_NE(unrolled[0].find("; recurrent_grid: workgroups wait for each other, and "),
            std::string::npos);
  EXPECT_NE(unrolled[0].find("; recurrent_steps: its steps take about "), std::string::npos);
}

}  // namespace
}  // namespace tcc
