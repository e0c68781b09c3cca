// Every two neighbouring regions say why they are not one.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "tests/source_dir.h"

namespace tcc::backends {
namespace {

using Lines = std::vector<std::string>;

struct Explained {
  Scheduled scheduled;
  Lines lines;
};

Explained explained(const ir::Graph& graph, CompileOptions options = {}) {
  Explained result;
  options.explain_fusion = [&](const std::string& line) { result.lines.push_back(line); };
  result.scheduled = schedule(graph, sched::target_by_name("vulkan"), options);
  return result;
}

Explained explained(const std::string& inputs, const std::string& nodes,
                    const std::string& outputs) {
  return explained(parse_yaml_graph("tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes +
                                        "]\noutputs: [" + outputs + "]\n",
                                    "g.yaml", "."));
}

TEST(FusionReasons, OneKernelNeedsNone) {
  EXPECT_EQ(explained("x: {dtype: f32, shape: [8, 640]}",
                      "{out: e, op: exp, in: [x]}, {out: y, op: sum, in: [e], dim: 1}", "y")
                .lines,
            Lines{});
}

TEST(FusionReasons, AreTheTemplatesOwn) {
  EXPECT_EQ(
      explained("x: {dtype: f32, shape: [8, 640]}",
                "{out: a, op: sum, in: [x], dim: 1}, {out: b, op: cumsum, in: [a], dim: 0}", "b")
          .lines,
      Lines{"sum (a) | cumsum (b): reduction: cumsum beside a reduction"});
  EXPECT_EQ(explained("x: {dtype: f32, shape: [8, 640]}",
                      "{out: a, op: sum, in: [x], dim: 1, keepdim: true}, "
                      "{out: d, op: div, in: [x, a]}, {out: b, op: sum, in: [d], dim: 0}",
                      "b")
                .lines.size(),
            1u);
}

TEST(FusionReasons, OfWhatIsNotComputedAgain) {
  const Explained two =
      explained("x: {dtype: f32, shape: [64, 64]}, w: {dtype: f32, shape: [64, 64]}",
                "{out: e, op: exp, in: [x]}, {out: a, op: matmul, in: [e, w]}, "
                "{out: b, op: matmul, in: [w, e]}",
                "a, b");
  ASSERT_EQ(two.scheduled.regions.size(), 3u);
  ASSERT_EQ(two.lines.size(), 2u);
  EXPECT_TRUE(two.lines[0].starts_with("exp (e) | matmul (a): rule: ")) << two.lines[0];
  EXPECT_TRUE(two.lines[1].starts_with("exp (e) | matmul (b): rule: ")) << two.lines[1];
}

// The squares of a norm that a product's result is read by: the product stores its result alone,
// and the kernel of rows squares it.
TEST(FusionReasons, RowsComputeWhatTheyAloneRead) {
  const Explained two =
      explained("x: {dtype: f32, shape: [64, 128]}, w: {dtype: f32, shape: [128, 96]}",
                "{out: a, op: matmul, in: [x, w]}, {out: r, op: relu, in: [a]}, "
                "{out: q, op: square, in: [r]}, {out: s, op: sum, in: [q], dim: 1, keepdim: true}, "
                "{out: d, op: rsqrt, in: [s]}, {out: y, op: mul, in: [r, d]}",
                "y");
  ASSERT_EQ(two.scheduled.regions.size(), 2u);
  EXPECT_EQ(two.scheduled.regions[0].region().name(), "matmul_relu");
  EXPECT_EQ(two.scheduled.regions[0].region().outputs.size(), 1u);
  EXPECT_EQ(two.lines, Lines{"matmul_relu (a, r) | square_sum_rsqrt_mul (q, s, d (+1)): rule: the "
                             "rows that read square (q) "
                             "compute it from what is stored"});
  // Nobody else reads the product's elements: their squares are all that is stored.
  const Explained squares =
      explained("x: {dtype: f32, shape: [64, 128]}, w: {dtype: f32, shape: [128, 96]}",
                "{out: a, op: matmul, in: [x, w]}, {out: q, op: square, in: [a]}, "
                "{out: y, op: sum, in: [q], dim: 1}",
                "y");
  ASSERT_EQ(squares.scheduled.regions.size(), 2u);
  EXPECT_EQ(squares.scheduled.regions[0].region().name(), "matmul_square");
}

// A product whose rows are open is told of as one whose rows are a number.
TEST(FusionReasons, AreTheSameOfOpenDims) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ndims: {B: 8}\ninputs: {x: {dtype: f32, shape: [B, 64]}, w: {dtype: f32, "
      "shape: [64, 48]}}\nnodes: [{out: h, op: matmul, in: [x, w]}, "
      "{out: s, op: sum, in: [h], dim: 1}]\noutputs: [s]\n",
      "g.yaml", ".");
  CompileOptions open;
  open.open_dims = {{"B", {1, 64, 1}}};
  const Explained fixed = explained(graph);
  ASSERT_EQ(fixed.lines.size(), 1u);
  EXPECT_TRUE(fixed.lines[0].starts_with("matmul (h) | sum (s): contraction: ")) << fixed.lines[0];
  EXPECT_EQ(explained(graph, open).lines, fixed.lines);
}

// Operands of an epilogue may be listed ahead of the product and behind it.
TEST(FusionReasons, TheOrderOfNodesIsNone) {
  const std::string inputs =
                        "x: {dtype: f32, shape: [64, 96]}, w: {dtype: f32, shape: [96, 128]}, "
                        "g: {dtype: f32, shape: [64, 128]}",
                    product = "{out: p, op: matmul, in: [x, w]}",
                    last = "{out: y, op: mul, in: [p, s]}";
  for (const std::string gate : {"{out: s, op: mul, in: [g, 2.0]}",
                                 "{out: s, op: sigmoid, in: [g]}", "{out: s, op: silu, in: [g]}"})
    for (const std::string& nodes : {gate + ", " + product, product + ", " + gate})
      EXPECT_EQ(explained(inputs, nodes + ", " + last, "y").scheduled.regions.size(), 1u) << nodes;
  // Others read what the gate makes. Where the product itself is read, all is its epilogue.
  EXPECT_EQ(explained(inputs, product + ", {out: s, op: sigmoid, in: [g]}, " + last, "y, s")
                .scheduled.regions.size(),
            2u);
  EXPECT_EQ(
      explained(inputs,
                product + ", {out: r, op: relu, in: [p]}, {out: s, op: add, in: [r, g]}, " + last,
                "y")
          .scheduled.regions.size(),
      1u);
}

// Each pair of a model's regions has its line; equal ones are counted.
TEST(FusionReasons, CoverEveryPair) {
  const ir::Graph graph =
      load_graph(testing::source_dir() / "configs/models/transformer-encoder-layer.yaml");
  for (const bool fuse : {true, false}) {
    CompileOptions options;
    options.fuse = fuse;
    const Explained model = explained(graph, options);
    size_t pairs = 0, told = 0;
    for (const sched::ScheduledRegion& region : model.scheduled.regions)
      for (const sched::ScheduledRegion& other : model.scheduled.regions)
        pairs += std::any_of(
            region.region().outputs.begin(), region.region().outputs.end(),
            [&](const ir::Value* value) { return other.region().slot_of_input(value) >= 0; });
    for (const std::string& line : model.lines) {
      const size_t at = line.rfind(" (");
      const bool counted = at != std::string::npos && line.ends_with(" times)");
      told += counted ? std::stoul(line.substr(at + 2)) : 1;
      EXPECT_NE(line.find(" | "), std::string::npos) << line;
      EXPECT_FALSE(line.ends_with(": ")) << line;
    }
    EXPECT_EQ(told, pairs);
    EXPECT_GT(pairs, 0u);
  }
}

}  // namespace
}  // namespace tcc::backends
