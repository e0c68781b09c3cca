// Every rule of the ONNX import table, with operands and attributes drawn at random: a model is
// read into a graph that verifies and can be bound, or is refused in one line.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "frontend/onnx/rules.h"
#include "ir/graph.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/fuzz/onnx_mutator.h"
#include "tests/sanitized.h"

namespace tcc::fuzz {
namespace {

constexpr uint32_t kModels = test::kSanitized ? 30 : 300;  // of every operator

// The number after `words` in the text, or -1.
int number_after(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  if (at == std::string::npos) return -1;
  int number = -1;
  std::sscanf(text.c_str() + at + words.size(), "%d", &number);
  return number;
}

// A constant of small numbers: for the operands that decide shapes.
std::string add_numbers(::onnx::GraphProto& graph) {
  const int count = graph.input_size() > 0 ? graph.input(0).type().tensor_type().shape().dim_size()
                                           : graph.initializer_size() % 3;
  ::onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name("numbers" + std::to_string(graph.initializer_size()));
  tensor.set_data_type(::onnx::TensorProto::INT64);
  if (graph.initializer_size() % 2 == 0) {
    tensor.add_dims(count);
    for (int k = 0; k < count; ++k) tensor.add_int64_data(1 + k % 3);
  } else {
    tensor.add_int64_data(2);
  }
  return tensor.name();
}

// Takes away what the operator does not know, and adds what it lacks, as the message says: what is
// drawn reaches the rule's own checks then. False for messages of another kind.
bool repair(::onnx::GraphProto& graph, const std::string& message) {
  ::onnx::NodeProto& node = *graph.mutable_node(0);
  if (message.ends_with(" is missing")) {
    if (const int k = number_after(message, "): input "); k >= 0) {
      while (node.input_size() <= k) node.add_input();
      node.set_input(k, graph.input_size() > 0 ? graph.input(0).name() : add_numbers(graph));
      return true;
    }
    const size_t name = message.find("attribute '") + 11;
    auto& attribute = *node.add_attribute();
    attribute.set_name(message.substr(name, message.find('\'', name) - name));
    attribute.set_i(1 + static_cast<int>(graph.node(0).input_size()) % 3);
    return true;
  }
  if (message.find(" must be integers") != std::string::npos ||
      message.find(" must be known") != std::string::npos) {
    const int k = number_after(message, "): input ");
    if (k < 0) return false;
    node.set_input(k, add_numbers(graph));
    return true;
  }
  if (!message.ends_with(" is not supported")) return false;
  if (const int k = number_after(message, "): input "); k >= 0) {
    node.set_input(k, "");
    return true;
  }
  if (const int k = number_after(message, ": output "); k >= 0) {
    graph.mutable_output()->DeleteSubrange(k, graph.output_size() - k);
    node.mutable_output()->DeleteSubrange(k, node.output_size() - k);
    return true;
  }
  for (int k = 0; k < node.attribute_size(); ++k) {
    if (message.find("attribute '" + node.attribute(k).name() + "'") == std::string::npos) continue;
    node.mutable_attribute()->DeleteSubrange(k, 1);
    return true;
  }
  return false;
}

// Reads and binds the model; what is wrong with it, or "".
std::string refusal(const ::onnx::ModelProto& model) {
  try {
    const ir::Graph graph = parse_onnx_graph(model.SerializeAsString(), "m.onnx");
    ir::verify(graph);
    ir::verify(graph.bind({}));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).starts_with("m.onnx: ")) << error.what();
    return error.what();
  }
}

class OnnxRule : public ::testing::TestWithParam<const onnx::Rule*> {};

TEST_P(OnnxRule, ReadsOrRefuses) {
  constexpr int kRepairs = 12;
  for (uint32_t seed = 1; seed <= kModels && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ::onnx::ModelProto model = random_model(*GetParam(), seed);
    for (int k = 0; k < kRepairs; ++k)
      if (!repair(*model.mutable_graph(), refusal(model))) break;
  }
}

std::string test_name(const ::testing::TestParamInfo<const onnx::Rule*>& info) {
  return std::string(info.param->op) + (info.param->domain.empty() ? "" : "_microsoft");
}

INSTANTIATE_TEST_SUITE_P(All, OnnxRule, ::testing::ValuesIn(onnx::all_rules()), test_name);

}  // namespace
}  // namespace tcc::fuzz
