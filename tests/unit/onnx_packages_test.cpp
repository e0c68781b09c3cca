// Models that packages ship have these in common: nodes out of order, dims of -1, branches on data,
// shapes computed in floats, and clear words about what is missing.
#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"

namespace tcc::testing {
namespace {

constexpr int kFloat = pb::TensorProto::FLOAT, kI64 = pb::TensorProto::INT64;
using Numbers = std::vector<double>;

// The first output of a graph whose only input has these numbers.
Numbers run(const ir::Graph& graph, const Numbers& x) {
  ir::RefTensor input(graph.inputs.at(0)->dtype(), {static_cast<int64_t>(x.size())});
  input.f = x;
  return ir::interpret(graph, {input}, ir::RefMode::stepwise).at(0).f;
}

// ---- order

TEST(OnnxOrder, NodesMayStandInFrontOfWhatTheyRead) {
  const ir::Graph graph = OnnxModel()
                              .input("x", {{2}})
                              .node("Neg", {"b"}, {"y"})
                              .node("Add", {"a", "x"}, {"b"})
                              .node("Mul", {"x", "x"}, {"a"})
                              .output("y")
                              .import();
  EXPECT_EQ(run(graph, {2, 3}), (Numbers{-6, -12}));
}

// A branch reads what is computed behind its node.
TEST(OnnxOrder, CountsWhatSubgraphsRead) {
  pb::GraphProto yes = subgraph({}, {"r"}), no = subgraph({}, {"r"});
  add_node(yes, "Neg", {"late"}, {"r"});
  add_node(no, "Identity", {"late"}, {"r"});
  pb::TensorProto truth;
  truth.set_data_type(pb::TensorProto::BOOL);
  truth.add_int32_data(1);
  const ir::Graph graph =
      OnnxModel()
          .input("x", {{2}})
          .constant("truth", truth)
          .node("If", {"truth"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}})
          .node("Add", {"x", "x"}, {"late"})
          .output("y")
          .import();
  EXPECT_EQ(run(graph, {2, 3}), (Numbers{-4, -6}));
}

TEST(OnnxOrder, ACycleIsNamed) {
  OnnxModel model;
  model.input("x", {{2}}).node("Relu", {"c"}, {"z"}).node("Relu", {"x"}, {"a"});
  model.node("Add", {"a", "c"}, {"b"}).node("Neg", {"b"}, {"c"}).output("z");
  EXPECT_ERROR(model.import(), "m.onnx: node 3 (Neg) needs its own result: nodes form a cycle");
}

// ---- dims

// A "?" is no name: such dims are not the same.
TEST(OnnxDims, OfQuestionMarksAreFree) {
  OnnxModel model;
  model.input("x", {{"?", 3, "?"}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import()), "f32[x_dim0, 3, x_dim2]");
}

TEST(OnnxDims, ThatDoNotFitByDefaultAreNamedWithSomeThatDo) {
  OnnxModel model;
  model.input("x", {{"batch", 3, "height"}})
      .node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", std::vector<int64_t>{100}}});
  model.output("y");
  EXPECT_ERROR(model.import().bind({}),
               "(with batch = 1, height = 1 by default; --dim height=128 fits)");
  // A dim that was given is not the default's fault.
  try {
    model.import().bind({{"height", 5}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).find("by default"), std::string_view::npos);
  }
}

TEST(OnnxDims, OfMinusOneAreFree) {
  OnnxModel model;
  model.input("x", {{-1, 3}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import()), "f32[x_dim0, 3]");
  OnnxModel bad;
  bad.input("x", {{-2, 3}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_ERROR(bad.import(), "input 'x' has dim -2");
}

// The type of `x` reshaped to [size of dim 0 in floats, as `op` and `number` make it, -1].
std::string reshaped(std::string_view op, float number, std::string_view then = "Floor") {
  OnnxModel model;
  model.input("x", {{"h", 6}}).constant("number", float_tensor({}, number));
  model.node("Shape", {"x"}, {"s"}, {{"end", 1}});
  model.node("Cast", {"s"}, {"f"}, {{"to", kFloat}}).node(op, {"f", "number"}, {"g"});
  model.node(then, {"g"}, {"whole"}).node("Cast", {"whole"}, {"size"}, {{"to", kI64}});
  model.node("ConstantOfShape", {"size"}, {"y"}).output("y");
  return output_type(model.import());
}

TEST(OnnxDims, AreFollowedThroughFloats) {
  EXPECT_EQ(reshaped("Mul", 2), "f32[h*2]");
  EXPECT_EQ(reshaped("Div", 2), "f32[(h//2)]");
  EXPECT_EQ(reshaped("Mul", 0.5f, "Ceil"), "f32[((h+1)//2)]");
  EXPECT_EQ(reshaped("Mul", 1.5f), "f32[(h//2)+h]");
  EXPECT_EQ(reshaped("Div", 3, "Identity"), "f32[(h//3)]");
  EXPECT_EQ(reshaped("Min", 512, "Identity"), "f32[min(512, h)]");
}

// A factor that f32 rounds has no short denominator; nor is a NaN a size.
TEST(OnnxDims, ThatFloatsRoundAreNotFollowed) {
  EXPECT_ERROR(reshaped("Mul", 0.7f), "(--dim binds h)");
  EXPECT_ERROR(reshaped("Div", 0), "(--dim binds h)");
}

// A table of positions for the longest text is cut to the length of this one.
TEST(OnnxDims, OfASliceOfALimitedTableExpand) {
  OnnxModel model;
  model.input("x", {{"b", "s"}}).constant("table", float_tensor({1, 512}, 1));
  model.ints("zero", {0}).ints("one", {1});
  model.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "one", "two", "zero"}, {"length"});
  model.ints("two", {2});
  model.node("Slice", {"table", "zero", "length", "one"}, {"row"});
  model.node("Expand", {"row", "shape"}, {"rows"}).node("Add", {"rows", "x"}, {"y"}).output("y");
  EXPECT_EQ(output_type(model.import()), "f32[b, s]");
  EXPECT_EQ(output_type(model.import().bind({{"b", 2}, {"s", 7}})), "f32[2, 7]");
  EXPECT_ERROR(model.import().bind({{"b", 2}, {"s", 700}}), "does not expand");
}

// ---- branches

OnnxModel branches(const char* then_op, const pb::GraphProto& no) {
  pb::GraphProto yes = subgraph({}, {"r"});
  add_node(yes, then_op, {"x"}, {"r"});
  OnnxModel model;
  model.input("x", {{4}}).constant("zero", float_tensor({}, 0));
  model.node("ReduceMax", {"x"}, {"m"}, {{"keepdims", 0}}).node("Greater", {"m", "zero"}, {"c"});
  model.node("If", {"c"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
  return model;
}

TEST(OnnxBranches, OnDataAreBothComputed) {
  pb::GraphProto no = subgraph({}, {"r"});
  add_node(no, "Neg", {"x"}, {"r"});
  const ir::Graph graph = branches("Abs", no).import();
  EXPECT_EQ(run(graph, {-1, 2, -3, 4}), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(run(graph, {-1, -2, -3, -4}), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(run(branches("Exp", no).import(), {-1, -2, -3, 0}), (Numbers{1, 2, 3, 0}));
}

TEST(OnnxBranches, OnDataMustGiveTheSameTypes) {
  pb::GraphProto sum = subgraph({}, {"r"});
  add_node(sum, "ReduceSum", {"x"}, {"r"});
  EXPECT_ERROR(branches("Abs", sum).import(),
               "node 2 (If): both branches of a condition that is not known are computed, but "
               "result 0 is f32[4] in one and f32[1] in the other; it depends on the data of input "
               "'x' (--input NAME=FILE.npy gives it)");
  pb::GraphProto unknown = subgraph({}, {"r"});
  add_node(unknown, "StringConcat", {"x", "x"}, {"r"});
  EXPECT_ERROR(branches("Abs", unknown).import(),
               "and the else branch cannot be: subgraph 'body': node 0 (StringConcat)");
}

// A condition on dims waits for them.
TEST(OnnxBranches, OnFreeDimsNeedThem) {
  pb::GraphProto yes = subgraph({}, {"r"}), no = subgraph({}, {"r"});
  add_node(yes, "Abs", {"x"}, {"r"});
  add_node(no, "Neg", {"x"}, {"r"});
  OnnxModel model;
  model.input("x", {{"length"}}).ints("ten", {10});
  model.node("Shape", {"x"}, {"s"}).node("Greater", {"s", "ten"}, {"c"});
  model.node("If", {"c"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
  EXPECT_ERROR(model.import(), "node 2 (If): the condition is not known; it depends on dims that");
  EXPECT_ERROR(model.import(), "; it can be read with: tcc-run m.onnx --dim length=128");
  GraphFileOptions options;
  options.dims = {{"length", 2}};
  EXPECT_EQ(run(model.import(options), {1, -2}), (Numbers{-1, 2}));
}

// ---- what is needed

TEST(OnnxNeeds, AreListedWithACommand) {
  OnnxModel model;
  model.input("x", {{"batch", "time", 4}}).input("rate", {std::vector<OnnxDim>{}}, kI64);
  model.constant("w", float_tensor({4, 4, 3}, 0));
  model.number("fast", 16000).node("Transpose", {"x"}, {"t"}, {{"perm", {0, 2, 1}}});
  model.node("Conv", {"t", "w"}, {"h"},
             {{"auto_pad", "SAME_UPPER"}, {"strides", std::vector<int64_t>{2}}});
  model.node("Range", {"rate", "fast", "rate"}, {"z"}).output("h").output("z");
  EXPECT_ERROR(model.import(), "auto_pad needs the size of spatial dim 0");
  EXPECT_ERROR(model.import(),
               "; it can be read with: tcc-run m.onnx --dim batch=1 --dim time=128 --input "
               "rate=NUMBER");
  // The message does not ask for a dim that is given.
  GraphFileOptions options;
  options.dims = {{"time", 3}};
  EXPECT_ERROR(model.import(options),
               "; it can be read with: tcc-run m.onnx --dim batch=1 --input rate=NUMBER");
}

TEST(OnnxNeeds, AreNotBlamedForOtherErrors) {
  OnnxModel model;
  model.input("x", {{"n", 4}}).node("Sofmax", {"x"}, {"y"}).output("y");
  try {
    model.import();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).find("--dim"), std::string_view::npos) << error.what();
  }
}

// A product of shapes that do not fit has an error whatever its rows are.
TEST(OnnxNeeds, AreNotProposedWhereDimsCannotHelp) {
  OnnxModel model;
  model.input("x", {{"N", 8}}).constant("w", float_tensor({9, 5}, 0));
  model.node("MatMul", {"x", "w"}, {"y"}).output("y");
  try {
    model.import();
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).ends_with("differ: 8 and 9")) << error.what();
  }
}

}  // namespace
}  // namespace tcc::testing
