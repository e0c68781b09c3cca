// ONNX operators whose results are as many as a run counts: names of their dims, arithmetic on
// them, what is known when the file is read.
#include <gtest/gtest.h>

#include "ir/counted_dims.h"
#include "ir/reference/interpreter.h"
#include "tests/expect_error.h"
#include "tests/unit/onnx_fixture.h"
#include "tests/unit/op_runner.h"

namespace tcc {
namespace {

using ir::RefTensor;
using ir::test::f32;
using ir::test::i64;
using testing::OnnxModel;
using Ints = std::vector<int64_t>;

std::vector<RefTensor> run(const ir::Graph& graph, const std::vector<RefTensor>& inputs,
                           const ir::Numbers& dims = {}) {
  return ir::interpret(graph.bind(dims), inputs, ir::RefMode::ideal);
}

testing::OnnxNames counted(const ir::Graph& graph) {
  testing::OnnxNames names;
  for (const ir::CountedDim& dim : ir::counted_dims(graph)) names.push_back(dim.name);
  return names;
}

TEST(OnnxCounted, DimsAreNamedByTheirResults) {
  OnnxModel model;
  model.input("x", {{"r/s_count", 4}}).node("NonZero", {"x"}, {"r/s"});
  model.output("r/s", testing::pb::TensorProto::INT64);
  auto& shape = *model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type();
  shape.mutable_shape()->add_dim()->set_dim_value(2);
  shape.mutable_shape()->add_dim()->set_dim_param("NonZero_12_dim_1");
  const ir::Graph graph = model.import();
  EXPECT_EQ(testing::output_type(graph), "i64[2, r_s_count_2]");
  EXPECT_EQ(counted(graph), testing::OnnxNames{"r_s_count_2"});
  EXPECT_EQ(graph.dims.at("r_s_count_2"), 0);
  const RefTensor found = run(graph, {f32({1, 4}, {0, 3, 0, 1})})[0];
  EXPECT_EQ(found.shape, (Ints{2, 2}));
  EXPECT_EQ(found.i, (Ints{0, 0, 1, 3}));
}

// A mask that selects from several tensors is counted once.
TEST(OnnxCounted, TheSameIsCountedOnce) {
  OnnxModel model;
  model.input("x", {{4}}).node("NonZero", {"x"}, {"a"}).node("NonZero", {"x"}, {"b"});
  model.node("Add", {"a", "b"}, {"y"}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(counted(graph), testing::OnnxNames{"a_count"});
  EXPECT_EQ(run(graph, {f32({4}, {0, 1, 1, 0})})[0].i, (Ints{2, 4}));
}

TEST(OnnxCounted, UnusedCountsAreDropped) {
  OnnxModel model;
  model.input("x", {{4}}).node("NonZero", {"x"}, {"a"}).node("Cast", {"a"}, {"b"}, {{"to", 6}});
  model.node("NonZero", {"b"}, {"c"}).node("Shape", {"c"}, {"unused"});
  model.node("NonZero", {"x"}, {"d"}).node("Size", {"d"}, {"size"});
  model.node("Neg", {"x"}, {"y"}).output("y");
  EXPECT_TRUE(model.import().dims.empty());
  model.output("size");
  EXPECT_EQ(counted(model.import()), testing::OnnxNames{"a_count"});
}

TEST(OnnxCounted, ConstantsAreCountedWhenTheFileIsRead) {
  OnnxModel model;
  model.input("x", {{3}}).ints("c", {0, 5, 0, 7}).node("NonZero", {"c"}, {"places"});
  model.node("Squeeze", {"places"}, {"flat"}).node("Gather", {"x", "flat"}, {"y"}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_TRUE(graph.dims.empty());
  EXPECT_EQ(testing::output_type(graph), "f32[2]");
}

// torch.arange as older exporters wrote it.
TEST(OnnxCounted, IndicesOfAShapeFollowFromIt) {
  OnnxModel model;
  model.input("x", {{"n", 3}}).node("Shape", {"x"}, {"shape"});
  model.node("ConstantOfShape", {"shape"}, {"ones"}, {{"value", testing::int_tensor({1})}});
  model.node("NonZero", {"ones"}, {"y"}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(testing::output_type(graph), "i64[2, n*3]");
  EXPECT_TRUE(counted(graph).empty());
  EXPECT_EQ(run(graph, {f32({1, 3}, {0, 0, 0})}, {{"n", 1}})[0].i, (Ints{0, 0, 0, 0, 1, 2}));
}

TEST(OnnxCounted, TopKTakesAnyK) {
  OnnxModel computed;
  computed.input("x", {{5}}).input("k", {{1}}, testing::pb::TensorProto::INT64);
  computed.node("TopK", {"x", "k"}, {"values", "y"}).output("y");
  const ir::Graph graph = computed.import();
  EXPECT_EQ(testing::output_type(graph), "i64[values_count]");
  EXPECT_EQ(run(graph, {f32({5}, {1, 9, 3, 7, 5}), i64({1}, {2})})[0].i, (Ints{1, 3}));

  // min(n, 3) of n.
  OnnxModel of_dims;
  of_dims.input("x", {{"n"}}).ints("three", {3}).node("Shape", {"x"}, {"shape"});
  of_dims.node("Min", {"shape", "three"}, {"k"});
  of_dims.node("TopK", {"x", "k"}, {"values", "y"}).output("y");
  const ir::Graph bounded = of_dims.import();
  EXPECT_TRUE(counted(bounded).empty());
  EXPECT_EQ(run(bounded, {f32({2}, {1, 9})}, {{"n", 2}})[0].i, (Ints{1, 0}));
  EXPECT_EQ(run(bounded, {f32({4}, {1, 9, 3, 7})}, {{"n", 4}})[0].i, (Ints{1, 3, 2}));
}

// Shape, Range, ConstantOfShape, Expand, Concat, Reshape of a counted dim.
TEST(OnnxCounted, SizesAreFollowed) {
  OnnxModel model;
  model.input("x", {{2, 5}}).node("NonZero", {"x"}, {"found"});
  model.node("Shape", {"found"}, {"shape"}).ints("last", {1}).ints("two", {2}).ints("minus", {-1});
  model.node("Gather", {"shape", "last"}, {"count"});
  model.node("ConstantOfShape", {"count"}, {"zeros"}, {{"value", testing::int_tensor({4})}});
  model.number("zero", 0).number("one", 1).node("Squeeze", {"count"}, {"number"});
  model.node("Range", {"zero", "number", "one"}, {"numbers"});
  model.node("Add", {"zeros", "numbers"}, {"sum"});
  model.node("Concat", {"two", "count"}, {"target"}, {{"axis", 0}});
  model.node("Expand", {"sum", "target"}, {"wide"});
  model.node("Concat", {"wide", "found"}, {"all"}, {{"axis", 0}});
  model.node("Concat", {"minus", "count"}, {"back"}, {{"axis", 0}});
  model.node("Reshape", {"all", "back"}, {"y"}).output("y");
  const ir::Graph graph = model.import();
  const RefTensor y = run(graph, {f32({2, 5}, {0, 1, 0, 0, 2, 3, 0, 0, 0, 0})})[0];
  EXPECT_EQ(y.shape, (Ints{4, 3}));
  EXPECT_EQ(y.i, (Ints{4, 5, 6, 4, 5, 6, 0, 0, 1, 1, 4, 0}));
  EXPECT_EQ(run(graph, {f32({2, 5}, std::vector<double>(10))})[0].shape, (Ints{4, 0}));
}

// A detector's end: boxes, their classes and scores, as many as are kept.
TEST(OnnxCounted, BoxesAreGathered) {
  OnnxModel model;
  model.input("boxes", {{1, 4, 4}}).input("scores", {{1, 2, 4}});
  model.ints("most", {10}).constant("iou", testing::float_tensor({1}, 0.5f));
  model.constant("least", testing::float_tensor({1}, 0.1f));
  model.node("NonMaxSuppression", {"boxes", "scores", "most", "iou", "least"}, {"kept"});
  model.ints("two", {2}).node("Gather", {"kept", "two"}, {"column"}, {{"axis", 1}});
  model.ints("one", {1}).node("Squeeze", {"column", "one"}, {"box"});
  model.number("zero", 0).node("Gather", {"boxes", "zero"}, {"first"});
  model.node("Gather", {"first", "box"}, {"corners"});
  model.node("GatherND", {"scores", "kept"}, {"best"});
  model.node("Shape", {"best"}, {"count"});
  model.node("Concat", {"count", "one"}, {"target"}, {{"axis", 0}});
  model.node("Reshape", {"best", "target"}, {"tall"});
  model.node("Concat", {"corners", "tall"}, {"y"}, {{"axis", 1}}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(testing::output_type(graph), "f32[kept_count, 5]");
  const RefTensor boxes = f32({1, 4, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 5, 5, 6, 6, 0, 0, 2, 2});
  const RefTensor scores = f32({1, 2, 4}, {0.5, 0.75, 0, 0, 0, 0, 0.25, 1});
  const RefTensor y = run(graph, {boxes, scores})[0];
  EXPECT_EQ(y.shape, (Ints{3, 5}));
  EXPECT_EQ(y.f, (std::vector<double>{0, 0, 1, 1, 0.75, 0, 0, 2, 2, 1, 5, 5, 6, 6, 0.25}));
  EXPECT_EQ(run(graph, {boxes, f32({1, 2, 4}, std::vector<double>(8))})[0].shape, (Ints{0, 5}));
}

TEST(OnnxCounted, AConditionOnACountComputesBothBranches) {
  OnnxModel model;
  model.input("x", {{4}}).node("NonZero", {"x"}, {"found"}).node("Size", {"found"}, {"count"});
  model.number("zero", 0).node("Equal", {"count", "zero"}, {"none"});
  testing::pb::GraphProto yes = testing::subgraph({}, {"r"}), no = testing::subgraph({}, {"r"});
  testing::add_node(yes, "Neg", {"x"}, {"r"});
  testing::add_node(no, "Abs", {"x"}, {"r"});
  model.node("If", {"none"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(run(graph, {f32({4}, {0, -1, 0, 2})})[0].f, (std::vector<double>{0, 1, 0, 2}));
}

TEST(OnnxCounted, EachTurnOfALoopCounts) {
  OnnxModel model;
  model.input("x", {{4}}, testing::pb::TensorProto::INT64).number("three", 3);
  testing::pb::GraphProto body = testing::subgraph({"k", "c"}, {"c", "number"});
  testing::add_node(body, "Sub", {"x", "k"}, {"rest"});
  testing::add_node(body, "NonZero", {"rest"}, {"found"});
  testing::add_node(body, "Size", {"found"}, {"number"});
  model.node("Loop", {"three", ""}, {"y"}, {{"body", body}}).output("y");
  const ir::Graph graph = model.import();
  EXPECT_EQ(counted(graph), (testing::OnnxNames{"found_count", "found_count_2", "found_count_3"}));
  EXPECT_EQ(run(graph, {i64({4}, {0, 1, 1, 5})})[0].i, (Ints{3, 2, 4}));
}

TEST(OnnxCounted, ALoopOfACountIsRefused) {
  OnnxModel model;
  model.input("x", {{4}}).node("NonZero", {"x"}, {"found"}).node("Size", {"found"}, {"count"});
  testing::pb::GraphProto body = testing::subgraph({"k", "c", "v"}, {"c", "w"});
  testing::add_node(body, "Neg", {"v"}, {"w"});
  model.node("Loop", {"count", "", "x"}, {"y"}, {{"body", body}}).output("y");
  EXPECT_ERROR(model.import(),
               "node 2 (Loop): input 0 must be a number; it depends on the number of results of "
               "'found', which each run counts");
}

}  // namespace
}  // namespace tcc
