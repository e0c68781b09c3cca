// Ops' elements take the work that the table of instructions says, and partition computes again
// whatever takes less time than a launch and its stores.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "ir/op.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/work.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

std::vector<SymInt> ints(std::initializer_list<int64_t> values) {
  return {values.begin(), values.end()};
}

class OpWorkTest : public ::testing::Test {
 protected:
  OpWork work(const char* op, const std::vector<ir::Type>& types, const ir::Attrs& attrs = {}) {
    std::vector<ir::Value*> inputs;
    for (const ir::Type& type : types)
      inputs.push_back(graph_.add_input(str("x", graph_.inputs.size()), type));
    return op_work(*graph_.add_node(*ir::find_op(op), inputs, attrs));
  }

 private:
  ir::Graph graph_;
};

const ir::Type kRows{DType::f32, {64, 640}}, kImage{DType::f32, {1, 8, 32, 32}};

TEST_F(OpWorkTest, CountsInstructions) {
  const OpWork relu = work("relu", {kRows}), exp = work("exp", {kRows});
  EXPECT_LT(relu.slots, 4);
  EXPECT_GT(exp.slots, 5 * relu.slots);
  EXPECT_EQ(exp.iterations, 1);
  EXPECT_FALSE(exp.is_long());
  EXPECT_TRUE(work("rand", {}, {{"size", ints({64, 640})}, {"seed", int64_t{1}}}).is_long());
}

TEST_F(OpWorkTest, CountsReadsOfEachOperand) {
  EXPECT_EQ(work("add", {kRows, kRows}).reads, (std::vector<double>{1, 1}));
  EXPECT_EQ(work("mul", {kRows, kRows}).reads, (std::vector<double>{1, 1}));
  EXPECT_EQ(work("sum", {kRows}, {{"dim", ints({1})}}).reads, std::vector<double>{640});
  EXPECT_EQ(work("matmul", {{DType::f32, {8, 32}}, {DType::f32, {32, 16}}}).reads,
            (std::vector<double>{32, 32}));
}

// An iteration of a serial loop costs what its body costs.
TEST_F(OpWorkTest, CountsIterationsOfSerialLoops) {
  const auto pool = [&](int64_t side) {
    return work("max_pool2d", {kImage}, {{"kernel_size", ints({side, side})}});
  };
  const OpWork small = pool(2), large = pool(4);
  EXPECT_EQ(small.iterations, 4);
  EXPECT_EQ(large.iterations, 16);
  EXPECT_EQ(small.reads, std::vector<double>{4});
  EXPECT_EQ(large.reads, std::vector<double>{16});
  EXPECT_NEAR(large.slots, 4 * small.slots, small.slots);
  EXPECT_TRUE(small.is_long());
}

struct Fused {
  size_t regions;
  std::string why;
};

Fused fused(const std::string& inputs, const std::string& nodes) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {" + inputs + "}\nnodes: [" + nodes + "]\noutputs: [y]\n", "g.yaml",
      ".");
  Fused result;
  backends::CompileOptions options;
  options.explain_fusion = [&](const std::string& line) { result.why += line; };
  result.regions = backends::schedule(graph, target_by_name("cuda:sm_90a"), options).regions.size();
  return result;
}

Fused exp_of_rows(int64_t rows, int64_t cols) {
  return fused(str("x: {dtype: f32, shape: [", rows, ", 1]}, z: {dtype: f32, shape: [", rows, ", ",
                   cols, "]}"),
               "{out: e, op: exp, in: [x]}, {out: y, op: mul, in: [e, z]}");
}

TEST(ComputingAgain, PaysWhereALaunchTakesLonger) {
  EXPECT_EQ(exp_of_rows(64, 640).regions, 1u);
  const Fused large = exp_of_rows(8192, 8192);
  EXPECT_EQ(large.regions, 2u);
  EXPECT_TRUE(
      large.why.starts_with("exp (e) | mul (y): cost: mul (y) would compute elements of exp (e) "
                            "8192 times, which takes "))
      << large.why;
}

TEST(ComputingAgain, OfFewInstructionsIsAlwaysBetter) {
  const auto joined = [](const char* op, int64_t rows) {
    return fused(str("x: {dtype: f32, shape: [", rows, ", 4096]}, z: {dtype: f32, shape: [", rows,
                     ", 4096]}"),
                 str("{out: e, op: ", op, ", in: [x]}, {out: y, op: cat, in: [e, z], dim: 0}"))
        .regions;
  };
  EXPECT_EQ(joined("relu", 64), 1u);
  EXPECT_EQ(joined("relu", 8192), 1u);
}

// The last node of a group in the graph stores, whichever order groups were merged in.
TEST(FusionGroups, MergedGroupsStoreTheirLastNode) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", kRows);
  const auto add = [&](const char* op, const std::vector<ir::Value*>& inputs,
                       const ir::Attrs& attrs = {}) {
    return graph.add_node(*ir::find_op(op), inputs, attrs);
  };
  const ir::Node *exp = add("exp", {x}), *relu = add("relu", {x});
  const ir::Node* sum = add("add", {exp->outputs[0], relu->outputs[0]});
  const ir::Node* half = add("cast", {sum->outputs[0]}, {{"dtype", DType::f16}});
  graph.outputs.push_back(half->outputs[0]);
  const Target target = target_by_name("vulkan");
  FusionGroups groups(graph, target, {});
  groups.start({exp});
  groups.start({relu});
  groups.start({sum});
  groups.add(2, half);
  groups.merge(1, 2);
  groups.merge(0, 2);
  EXPECT_EQ(groups.nodes(2), (std::vector<const ir::Node*>{exp, relu, sum, half}));
  EXPECT_EQ(groups.bytes(groups.nodes(2)).written, 64 * 640 * 2);
  EXPECT_EQ(groups.bytes(groups.nodes(2)).read, 64 * 640 * 4);
}

}  // namespace
}  // namespace tcc::sched
