// ONNX nodes' names as layers, and numbers given for inputs that decide shapes.
#include <gtest/gtest.h>

#include "ir/layers.h"
#include "tests/unit/onnx_fixture.h"
#include "tools/tensors.h"

namespace tcc::testing {
namespace {

ir::Layers layers_of(const ir::Graph& graph) {
  ir::Layers layers;
  for (const auto& node : graph.nodes()) ir::add_layers(layers, node->location);
  return layers;
}

TEST(OnnxLayers, AreNodesNamesOrTheirFirstOutputs) {
  OnnxModel model;
  model.input("x", {{2, 6}}).node("Relu", {"x"}, {"a"}).node("Softmax", {"a"}, {"b"}).output("b");
  model.graph().mutable_node(1)->set_name("encoder/softmax");
  EXPECT_EQ(layers_of(model.import()), (ir::Layers{"a", "encoder/softmax"}));
}

TEST(OnnxLayers, InFunctionsHaveTheCallersNameBefore) {
  OnnxModel model;
  model.input("x", {{2, 6}}).node("Twice", {"x"}, {"y"}).output("y");
  model.graph().mutable_node(0)->set_domain("local");
  model.graph().mutable_node(0)->set_name("block");
  pb::OperatorSetIdProto* local = model.proto.add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  pb::FunctionProto& function = *model.proto.add_functions();
  function.set_name("Twice");
  function.set_domain("local");
  function.add_input("p");
  function.add_output("q");
  function.add_opset_import()->set_version(17);
  pb::NodeProto& node = *function.add_node();
  node.set_op_type("Add");
  node.set_name("sum");
  node.add_input("p");
  node.add_input("p");
  node.add_output("q");
  EXPECT_EQ(layers_of(model.import()), ir::Layers{"block/sum"});
}

// Numbers are of the type that the file declares; an input that decides shapes is none any more.
TEST(OnnxGivenNumbers, MayDecideShapes) {
  OnnxModel model;
  model.input("x", {{2, 6}})
      .input("shape", std::vector<OnnxDim>{2}, pb::TensorProto::INT64)
      .input("scale", std::vector<OnnxDim>{})
      .node("Reshape", {"x", "shape"}, {"r"})
      .node("Mul", {"r", "scale"}, {"y"})
      .output("y");
  const tools::InputFiles files({{"shape=3,4", "scale=2"}, "", {}});
  const ir::Graph graph = model.import({.inputs = &files});
  EXPECT_EQ(ir::const_shape(*graph.outputs[0]), (std::vector<int64_t>{3, 4}));
  const std::vector<Tensor> inputs = tools::load_inputs("test", graph.bind({}), files);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].get(0), 2);
}

}  // namespace
}  // namespace tcc::testing
