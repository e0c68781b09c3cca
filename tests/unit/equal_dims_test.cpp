// Dims that a graph takes for equal to expressions of others.
#include "ir/equal_dims.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/op.h"
#include "tcc/tcc.hpp"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

// The keys of a step behind those of the steps before, and a mask with a dim of its own.
constexpr const char* kStep =
    "tcc: 1\n"
    "name: step\n"
    "dims: {P: 4, S: 1, T: 5, B: 1, C: 1}\n"
    "inputs:\n"
    "  k: {dtype: f32, shape: [B, P, 2]}\n"
    "  n: {dtype: f32, shape: [B, S, 2]}\n"
    "  mask: {dtype: f32, shape: [C, T, 1]}\n"
    "nodes:\n"
    "  - {out: keys, op: cat, in: [k, n], dim: 1}\n"
    "  - {out: y, op: add, in: [keys, mask]}\n"
    "outputs: [y]\n";

std::string found(const SizeRanges& open, const Numbers& numbers = {},
                  const DimExpressions& given = {}) {
  Graph graph = parse_yaml_graph(kStep, "step.yaml", ".");
  SizeRanges left = open;
  std::string text;
  for (const auto& [name, value] : write_equal_dims(graph, numbers, left, given))
    text += name + " = " + value.to_string() + "; ";
  for (const auto& [name, range] : left) text += name + ": " + range.to_string() + " ";
  return text + ir::to_string(std::span<const SymInt>(graph.inputs[2]->shape()));
}

TEST(EqualDims, AreFoundWhereOpsTakeThemForEqual) {
  EXPECT_EQ(found({{"P", {0, 7}}}), "T = P+S; P: 0..7 [C, P+S, 1]");
  EXPECT_EQ(found({{"P", {0, 7}}, {"T", {}}}), "T = P+S; P: 0..7 [C, P+S, 1]");
  EXPECT_EQ(found({{"P", {0, 7}}, {"T", {1, 8}}}), "T = P+S; P: 0..7 [C, P+S, 1]");
  EXPECT_EQ(found({{"P", {8, 64, 8}}, {"T", {8, 72, 4}}}, {{"S", 4}}),
            "T = P+S; P: 8..64:8 [C, P+S, 1]");
  EXPECT_EQ(found({}), "[C, T, 1]");
}

TEST(EqualDims, OfNumbersStay) {
  EXPECT_EQ(found({{"P", {0, 7}}}, {{"T", 1}, {"C", 1}}), "P: 0..7 [C, T, 1]");
  EXPECT_EQ(found({{"T", {2, 8}}}), "T: 2..8 [C, T, 1]");  // P + S is no open dim's
}

TEST(EqualDims, OfOneAnotherShareARange) {
  EXPECT_EQ(found({{"B", {1, 8}}, {"C", {2, 16, 2}}}, {{"T", 5}}), "B = C; C: 2..8:2 [C, T, 1]");
  EXPECT_EQ(found({{"B", {1, 8}}}, {{"T", 5}}), "C = B; B: 1..8 [B, T, 1]");
  EXPECT_ERROR(found({{"B", {1, 3}}, {"C", {4, 16}}}, {{"T", 5}}), "and no size is in both");
}

TEST(EqualDims, AreTakenAsGiven) {
  EXPECT_EQ(found({}, {{"P", 7}}, {{"T", parse_symint("P+S")}}), "T = P+S; [C, P+S, 1]");
  EXPECT_ERROR(found({}, {}, {{"T", parse_symint("T+1")}}),
               "dim T = T+1: is an expression of itself");
  EXPECT_ERROR(found({}, {}, {{"Q", parse_symint("P+1")}}),
               "dim Q = P+1: the graph has no such dim; there are ");
  EXPECT_ERROR(found({}, {}, {{"T", parse_symint("Q+1")}}),
               "dim T = Q+1: Q: the graph has no such dim; there are ");
  EXPECT_ERROR(found({}, {{"T", 3}}, {{"T", parse_symint("P+1")}}), "'T' has a number, too");
  EXPECT_ERROR(found({}, {}, {{"S", parse_symint("T")}, {"T", parse_symint("S")}}),
               "dim T = S: is a cycle, since S = T");
  EXPECT_ERROR(
      found({}, {},
            {{"B", parse_symint("S+1")}, {"S", parse_symint("T+1")}, {"T", parse_symint("B+P")}}),
      "dim T = B+P: is a cycle, since B = T+2");
}

TEST(EqualDims, MustFitTheirRange) {
  EXPECT_ERROR(found({{"P", {0, 7}}, {"T", {1, 5}}}),
               "dim T = 1..5: is P+S in graph 'step', which is 1..8: leave 'T' out");
  EXPECT_ERROR(found({{"P", {0, 8}}, {"T", {0, 64, 8}}}), "leave 'T' out");
}

TEST(EqualDims, AreHeldToTheShapesOfInputs) {
  const tcc::Graph graph = tcc::Graph::from_yaml(kStep);
  for (const std::vector<std::string>& open :
       {std::vector<std::string>{"P=0..7"}, {"P=0..7", "T"}, {"P=0..7", "T=P+S"}}) {
    const CompiledGraph compiled = compile(graph, "null", {.open_dims = open});
    ASSERT_EQ(compiled.dim_ranges().size(), 1u);
    Context context(compiled);
    const auto run = [&](int64_t past, int64_t total) {
      return context.run(std::vector<HostTensor>{HostTensor("f32", {1, past, 2}),
                                                 HostTensor("f32", {1, 1, 2}),
                                                 HostTensor("f32", {1, total, 1})});
    };
    EXPECT_EQ(run(3, 4).at(0).shape, (std::vector<int64_t>{1, 4, 2}));
    EXPECT_EQ(run(7, 8).at(0).shape, (std::vector<int64_t>{1, 8, 2}));
    EXPECT_ERROR(run(3, 1), "input 'mask': dim 1 is 1, not 4 (P = 3 by input 'k': dim 1)");
  }
  // A size by that name is one of the other dim.
  const CompiledGraph compiled = compile(
      graph, "null", {.dims = {{"S", 1}}, .open_dims = {"P=0..7", "T", "B=1..8", "C=2..16:2"}});
  Context context(compiled, {{"T", 4}, {"B", 2}});
  EXPECT_EQ(context.dims(), (std::map<std::string, std::int64_t>{{"C", 2}, {"P", 3}}));
  context.set_dims({{"B", 4}, {"C", 4}, {"P", 5}, {"T", 6}});
  EXPECT_EQ(context.inputs().at(2).shape, (std::vector<std::int64_t>{4, 6, 1}));
  context.reserve_dims({{"T", 8}});
  EXPECT_ERROR(context.set_dims({{"B", 4}, {"C", 2}}), "B = 4: is C, and C = 2");
  EXPECT_ERROR(context.set_dims({{"B", 3}}), "B = 3: is C, which is 3 for no C = 2..8:2");
  EXPECT_ERROR(context.set_dims({{"T", 9}}), "T = 9: is P+1, which is 9 for no P = 0..7");
  EXPECT_ERROR(context.set_dims({{"Q", 9}}), "no size 'Q' is open");
  EXPECT_EQ(context.dims().at("C"), 4);
  // A sum of two open dims tells neither.
  Context sum(compile(graph, "null", {.open_dims = {"P=0..7", "S=1..4", "T"}}));
  EXPECT_ERROR(sum.set_dims({{"T", 4}}), "'P' has no size (P = 0..7)");
  EXPECT_ERROR(sum.set_dims({{"P", 3}, {"S", 2}, {"T", 4}}), "T = 4: is P+S, which is 5");
  sum.set_dims({{"P", 3}, {"S", 2}, {"T", 5}});
  EXPECT_ERROR(compile(graph, "null", {.open_dims = {"P=0..7", "T"}, .specialize = {"T=4"}}),
               "specialize: 'T' is P+S: name sizes of its dims");
}

// Groups are believed to divide a dim with a name until a number stands in for it.
TEST(EqualDims, GroupsDivideChannelsOfAnyName) {
  const Graph graph = parse_yaml_graph(
      "tcc: 1\nname: grouped\ndims: {C: 8}\ninputs:\n"
      "  x: {dtype: f32, shape: [1, C, 8, 8]}\n  w: {dtype: f32, shape: [C, 2, 3, 3]}\n"
      "nodes:\n  - {out: y, op: conv2d, in: [x, w], groups: 4}\n"
      "  - {out: z, op: group_norm, in: [y], num_groups: 4}\noutputs: [z]\n",
      "grouped.yaml", ".");
  EXPECT_EQ(graph.bind({{"C", 8}}).outputs[0]->shape()[1], SymInt(8));
  EXPECT_ERROR(graph.bind({{"C", 6}}), "groups 4 does not divide the 6 output channels");
  EXPECT_ERROR(graph.bind({{"C", 12}}), "x has 12 channels");
}

}  // namespace
}  // namespace tcc::ir
