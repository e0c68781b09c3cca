// ONNX models: symbolic dims, arithmetic on shapes, and inputs that decide shapes.
#include <limits>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

constexpr int kI64 = pb::TensorProto::INT64;

// ---- declared dims

TEST(OnnxDims, ANameIsOneSymbolEverywhere) {
  const ir::Graph graph = OnnxModel()
                              .input("x", {{"batch", 4}})
                              .input("y", {{"batch", 4}})
                              .node("Add", {"x", "y"}, {"z"})
                              .output("z")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[batch, 4]");
  EXPECT_EQ(graph.dims, (decltype(graph.dims){{"batch", 1}}));
}

TEST(OnnxDims, ExpressionsShareTheirSymbols) {
  const ir::Graph graph = OnnxModel()
                              .input("x", {{"s0"}})
                              .input("y", {{"2*s0"}})
                              .node("Concat", {"x", "y"}, {"z"}, {{"axis", 0}})
                              .output("z")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[s0*3]");
  EXPECT_EQ(graph.dims.size(), 1u);
}

TEST(OnnxDims, NamesBecomeIdentifiersOfTheirOwn) {
  const ir::Graph graph = OnnxModel()
                              .input("x", {{"batch.size", "batch-size", "8bit", "\xc3\xa9"}})
                              .node("Relu", {"x"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[batch_size, batch_size_2, d8bit, __]");
  const ir::Graph other = OnnxModel()
                              .input("x", {{"a.b", "a:b", "a b"}})
                              .node("Relu", {"x"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(other), "f32[a_b, a_b_2, a_b_3]");
}

TEST(OnnxDims, ADimWithoutANameIsNamedAfterItsInput) {
  const ir::Graph graph = OnnxModel()
                              .input("x", {{OnnxDim(), "x_dim0"}})
                              .node("Relu", {"x"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[x_dim0, x_dim0_2]");
}

TEST(OnnxDims, AreBoundByNumber) {
  OnnxModel model;
  model.input("x", {{"s0", "2*s0", "t"}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import({.dims = {{"s0", 3}}})), "f32[3, 6, t]");
  EXPECT_ERROR(model.import({.dims = {{"s0", -3}}}), "m.onnx: input 'x'");
}

TEST(OnnxDims, AreTakenFromGivenInputsUnlessBound) {
  OnnxModel model;
  model.input("x", {{"s0", "t"}}).input("y", {{"2*s0"}}).node("Relu", {"x"}, {"z"});
  model.node("Relu", {"y"}, {"w"}).output("z").output("w");
  const GivenTensors given = GivenTensors().add("x", Tensor(DType::f32, {5, 7}));
  const ir::Graph graph = model.import({.inputs = &given});
  EXPECT_EQ(output_type(graph), "f32[5, 7]");
  EXPECT_EQ(ir::to_string(graph.outputs[1]->type), "f32[10]");
  EXPECT_EQ(output_type(model.import({.dims = {{"s0", 3}}, .inputs = &given})), "f32[3, 7]");
}

TEST(OnnxDims, AShapeThatIsNotDeclaredIsGiven) {
  OnnxModel model;
  model.input("x", std::nullopt).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_ERROR(model.import(), "m.onnx: input 'x': its shape is not given, nor is its data");
  const GivenTensors given = GivenTensors().add("x", Tensor(DType::f32, {5, 7}));
  EXPECT_EQ(output_type(model.import({.inputs = &given})), "f32[5, 7]");
}

TEST(OnnxDims, WhatIsNoDimIsRefused) {
  const auto refuse = [](const OnnxDim& dim, const char* words) {
    EXPECT_ERROR(OnnxModel().input("x", {{dim}}).node("Relu", {"x"}, {"y"}).output("y").import(),
                 words);
  };
  refuse(-5, "m.onnx: input 'x' has dim -5");
  refuse("3-5", "m.onnx: input 'x'");
}

// ---- shapes computed from shapes

// Declares x f32[B, S, 12], whose shape is "shape".
OnnxModel shaped(int64_t opset = 17) {
  OnnxModel model(opset);
  return model.input("x", {{"B", "S", 12}}).node("Shape", {"x"}, {"shape"});
}

TEST(OnnxShapes, ReshapeToGatheredDims) {
  // The usual split of attention heads: [B, S, 12] -> [B, S, 3, -1].
  const ir::Graph graph = shaped()
                              .number("zero", 0)
                              .number("one", 1)
                              .ints("axes", {0})
                              .ints("heads", {3})
                              .ints("rest", {-1})
                              .node("Gather", {"shape", "zero"}, {"b"})
                              .node("Gather", {"shape", "one"}, {"s"})
                              .node("Unsqueeze", {"b", "axes"}, {"b1"})
                              .node("Unsqueeze", {"s", "axes"}, {"s1"})
                              .node("Concat", {"b1", "s1", "heads", "rest"}, {"to"}, {{"axis", 0}})
                              .node("Reshape", {"x", "to"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[B, S, 3, 4]");
}

TEST(OnnxShapes, ReshapeKeepsDimsOfZero) {
  EXPECT_EQ(output_type(OnnxModel()
                            .input("x", {{"B", "S", 12}})
                            .ints("to", {0, 0, 3, 4})
                            .node("Reshape", {"x", "to"}, {"y"})
                            .output("y")
                            .import()),
            "f32[B, S, 3, 4]");
}

TEST(OnnxShapes, ArithmeticOfDims) {
  const ir::Graph graph = shaped()
                              .number("one", 1)
                              .number("two", 2)
                              .node("Gather", {"shape", "one"}, {"s"})
                              .node("Mul", {"s", "two"}, {"d"})
                              .node("Add", {"d", "one"}, {"e"})
                              .node("Div", {"e", "two"}, {"f"})
                              .node("Cast", {"f"}, {"g"}, {{"to", pb::TensorProto::INT32}})
                              .node("Cast", {"g"}, {"h"}, {{"to", kI64}})
                              .ints("axes", {0})
                              .node("Unsqueeze", {"h", "axes"}, {"to"})
                              .node("ConstantOfShape", {"to"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[S]");  // (2 S + 1) / 2
}

TEST(OnnxShapes, SliceToTheEndKeepsTheDim) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  for (const int64_t end : {kEnd, int64_t{1} << 31})
    EXPECT_EQ(output_type(OnnxModel()
                              .input("x", {{"B", "S"}})
                              .ints("start", {1})
                              .ints("end", {end})
                              .ints("axes", {1})
                              .node("Slice", {"x", "start", "end", "axes"}, {"y"})
                              .output("y")
                              .import({.dims = {{"S", 9}}})),
              "f32[B, 8]");
}

TEST(OnnxShapes, SliceOfAShapeByDims) {
  const ir::Graph graph = shaped()
                              .ints("start", {1})
                              .ints("end", {2})
                              .node("Slice", {"shape", "start", "end"}, {"s"})
                              .ints("origin", {0})
                              .ints("last", {2})
                              .node("Slice", {"x", "origin", "s", "last"}, {"y"})
                              .output("y")
                              .import({.dims = {{"S", 5}}});
  EXPECT_EQ(output_type(graph), "f32[B, 5, 5]");
}

TEST(OnnxShapes, RangeAndConstantOfShape) {
  OnnxModel model = shaped();
  model.number("zero", 0).number("one", 1).node("Gather", {"shape", "one"}, {"s"});
  model.node("Range", {"zero", "s", "one"}, {"r"}).output("r").output("c");
  model.node("Gather", {"shape", "zero"}, {"b"}).ints("axes", {0});
  model.node("Unsqueeze", {"b", "axes"}, {"b1"}).node("ConstantOfShape", {"b1"}, {"c"});
  const ir::Graph graph = model.import();
  EXPECT_EQ(output_type(graph), "i64[S]");
  EXPECT_EQ(ir::to_string(graph.outputs[1]->type), "f32[B]");
}

TEST(OnnxShapes, ExpandToWhereOfEqualDims) {
  // PyTorch writes this for expand(-1, S, 12): where(target == -1, 1, target).
  const ir::Graph graph = shaped()
                              .number("one", 1)
                              .ints("axes", {0})
                              .ints("keep", {-1})
                              .ints("twelve", {12})
                              .ints("ones", {1, 1, 1})
                              .ints("minus", {-1, -1, -1})
                              .node("Gather", {"shape", "one"}, {"s"})
                              .node("Unsqueeze", {"s", "axes"}, {"s1"})
                              .node("Concat", {"keep", "s1", "twelve"}, {"to"}, {{"axis", 0}})
                              .node("Equal", {"to", "minus"}, {"is_minus"})
                              .node("Where", {"is_minus", "ones", "to"}, {"target"})
                              .input("y", {{"B", 1, 1}})
                              .node("Expand", {"y", "target"}, {"z"})
                              .output("z")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[B, S, 12]");
}

TEST(OnnxShapes, SizesAndProducts) {
  const ir::Graph graph = shaped()
                              .node("ReduceProd", {"shape"}, {"count"}, {{"keepdims", 1}})
                              .node("Reshape", {"x", "count"}, {"y"})
                              .output("y")
                              .import();
  EXPECT_EQ(output_type(graph), "f32[B*S*12]");
}

TEST(OnnxShapes, SplitByDims) {
  EXPECT_EQ(output_type(OnnxModel(18)
                            .input("x", {{"2*n", 3}})
                            .node("Split", {"x"}, {"a", "b"}, {{"axis", 0}, {"num_outputs", 2}})
                            .node("Add", {"a", "b"}, {"y"})
                            .output("y")
                            .import()),
            "f32[n, 3]");
}

TEST(OnnxShapes, FlattenAtEveryAxis) {
  const auto flat = [](int axis) {
    OnnxModel model;
    model.input("x", {{2, 3, 5}}).node("Flatten", {"x"}, {"y"}, {{"axis", axis}}).output("y");
    return output_type(model.import());
  };
  EXPECT_EQ(flat(0), "f32[1, 30]");
  EXPECT_EQ(flat(3), "f32[30, 1]");
  EXPECT_EQ(flat(-1), "f32[6, 5]");
  EXPECT_EQ(flat(-3), "f32[1, 30]");
  for (const int axis : {-4, 4}) EXPECT_ERROR(flat(axis), "node 0 (Flatten): axis");
}

TEST(OnnxShapes, LongChainsAreFollowed) {
  OnnxModel model = shaped();
  model.number("zero", 0).node("Gather", {"shape", "zero"}, {"v0"});
  constexpr int kLength = 20000;
  for (int k = 0; k < kLength; ++k)
    model.node(k % 2 ? "Add" : "Sub", {str("v", k), "zero"}, {str("v", k + 1)});
  model.ints("axes", {0}).node("Unsqueeze", {str("v", kLength), "axes"}, {"to"});
  model.node("ConstantOfShape", {"to"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import()), "f32[B]");
}

TEST(OnnxShapes, AnExpressionThatGrowsWithoutEndIsRefused) {
  OnnxModel model = shaped();
  model.number("zero", 0).node("Gather", {"shape", "zero"}, {"v0"});
  for (int k = 0; k < 60; ++k) model.node("Mul", {str("v", k), str("v", k)}, {str("v", k + 1)});
  model.ints("axes", {0}).node("Unsqueeze", {"v60", "axes"}, {"to"});
  model.node("ConstantOfShape", {"to"}, {"y"}).output("y");
  EXPECT_ERROR(model.import(), "(ConstantOfShape): size expression is too large");
}

// ---- inputs that decide shapes

OnnxModel reshaped_by_input() {
  OnnxModel model;
  return model.input("x", {{12}})
      .input("to", {{2}}, kI64)
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
}

TEST(OnnxSpecialised, AnInputThatDecidesAShapeBecomesAConstant) {
  const GivenTensors given = GivenTensors().ints("to", {3, -1});
  const ir::Graph graph = reshaped_by_input().import({.inputs = &given});
  EXPECT_EQ(output_type(graph), "f32[3, 4]");
  EXPECT_EQ(input_names(graph), OnnxNames{"x"});
}

TEST(OnnxSpecialised, WithoutItsDataTheErrorNamesIt) {
  EXPECT_ERROR(reshaped_by_input().import(),
               "m.onnx: node 0 (Reshape): input 1 must be known when the graph is compiled; it "
               "depends on the data of input 'to' (--input NAME=FILE.npy gives it)");
}

TEST(OnnxSpecialised, DataOfAnotherTypeIsRefused) {
  const GivenTensors given = GivenTensors().ints("to", {3, 2, 2});
  EXPECT_ERROR(reshaped_by_input().import({.inputs = &given}),
               "m.onnx: input 'to' is i64[2], but the data given is i64[3]");
}

TEST(OnnxSpecialised, WhatIsComputedFromTheInputIsKnownToo) {
  const GivenTensors given = GivenTensors().ints("n", {5});
  const ir::Graph graph = OnnxModel()
                              .input("x", {{1, 4}})
                              .input("n", {{1}}, kI64)
                              .ints("one", {1})
                              .ints("four", {4})
                              .node("Add", {"n", "one"}, {"m"})
                              .node("Concat", {"m", "four"}, {"to"}, {{"axis", 0}})
                              .node("Expand", {"x", "to"}, {"y"})
                              .output("y")
                              .import({.inputs = &given});
  EXPECT_EQ(output_type(graph), "f32[6, 4]");
  EXPECT_EQ(input_names(graph), OnnxNames{"x"});
}

}  // namespace
}  // namespace tcc::testing
