// ONNX models made in the tests, with the generated protobuf classes.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx.pb.h>
#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/tensor.h"
#include "ir/verify.h"
#include "tests/given_tensors.h"

namespace tcc::testing {

namespace pb = ::onnx;

// A dim of a declared shape: a number, a name, or nothing.
struct OnnxDim {
  std::optional<int64_t> number;
  std::string name;
  OnnxDim() = default;
  OnnxDim(int64_t value) : number(value) {}             // NOLINT: implicit on purpose
  OnnxDim(int value) : number(value) {}                 // NOLINT
  OnnxDim(const char* text) : name(text) {}             // NOLINT
  OnnxDim(std::string text) : name(std::move(text)) {}  // NOLINT
};

struct OnnxAttribute {
  std::string name;
  pb::AttributeProto proto;
  OnnxAttribute(std::string_view key, int64_t value) : OnnxAttribute(key) { proto.set_i(value); }
  OnnxAttribute(std::string_view key, int value) : OnnxAttribute(key) { proto.set_i(value); }
  OnnxAttribute(std::string_view key, float value) : OnnxAttribute(key) { proto.set_f(value); }
  OnnxAttribute(std::string_view key, const char* value) : OnnxAttribute(key) {
    proto.set_s(value);
  }
  OnnxAttribute(std::string_view key, const std::vector<int64_t>& values) : OnnxAttribute(key) {
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  OnnxAttribute(std::string_view key, const pb::GraphProto& graph) : OnnxAttribute(key) {
    *proto.mutable_g() = graph;
  }
  OnnxAttribute(std::string_view key, const pb::TensorProto& tensor) : OnnxAttribute(key) {
    *proto.mutable_t() = tensor;
  }
  // Inside a function: an attribute of the call.
  static OnnxAttribute reference(std::string_view key, const std::string& of) {
    OnnxAttribute result(key);
    result.proto.set_ref_attr_name(of);
    return result;
  }

 private:
  explicit OnnxAttribute(std::string_view key) : name(key) { proto.set_name(name); }
};

using OnnxNames = std::vector<std::string>;
using OnnxAttributes = std::vector<OnnxAttribute>;

// Into a GraphProto or a FunctionProto.
template <class Graph>
pb::NodeProto& add_node(Graph& graph, std::string_view op, const OnnxNames& inputs,
                        const OnnxNames& outputs, const OnnxAttributes& attributes = {}) {
  pb::NodeProto& node = *graph.add_node();
  node.set_op_type(std::string(op));
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  for (const OnnxAttribute& attribute : attributes) *node.add_attribute() = attribute.proto;
  return node;
}

inline void set_type(pb::ValueInfoProto& info, const std::string& name, int dtype,
                     const std::optional<std::vector<OnnxDim>>& dims) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(dtype);
  if (!dims) return;
  tensor.mutable_shape();
  for (const OnnxDim& dim : *dims) {
    auto& proto = *tensor.mutable_shape()->add_dim();
    if (dim.number) proto.set_dim_value(*dim.number);
    if (!dim.name.empty()) proto.set_dim_param(dim.name);
  }
}

inline pb::TensorProto int_tensor(const std::vector<int64_t>& values, bool scalar = false) {
  pb::TensorProto tensor;
  tensor.set_data_type(pb::TensorProto::INT64);
  if (!scalar) tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor;
}

inline pb::TensorProto float_tensor(const std::vector<int64_t>& shape, float value) {
  pb::TensorProto tensor;
  tensor.set_data_type(pb::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t dim : shape) tensor.add_dims(dim), count *= dim;
  for (int64_t k = 0; k < count; ++k) tensor.add_float_data(value);
  return tensor;
}

class OnnxModel {
 public:
  pb::ModelProto proto;

  explicit OnnxModel(int64_t opset = 17) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    graph().set_name("test");
  }
  pb::GraphProto& graph() { return *proto.mutable_graph(); }

  OnnxModel& input(const std::string& name, std::optional<std::vector<OnnxDim>> dims,
                   int dtype = pb::TensorProto::FLOAT) {
    set_type(*graph().add_input(), name, dtype, dims);
    return *this;
  }
  OnnxModel& output(const std::string& name, int dtype = pb::TensorProto::UNDEFINED) {
    set_type(*graph().add_output(), name, dtype, std::nullopt);
    return *this;
  }
  OnnxModel& constant(const std::string& name, pb::TensorProto tensor) {
    tensor.set_name(name);
    *graph().add_initializer() = std::move(tensor);
    return *this;
  }
  OnnxModel& ints(const std::string& name, const std::vector<int64_t>& values) {
    return constant(name, int_tensor(values));
  }
  OnnxModel& number(const std::string& name, int64_t value) {
    return constant(name, int_tensor({value}, true));
  }
  OnnxModel& node(std::string_view op, const OnnxNames& inputs, const OnnxNames& outputs,
                  const OnnxAttributes& attributes = {}) {
    add_node(graph(), op, inputs, outputs, attributes);
    return *this;
  }

  std::string bytes() const { return proto.SerializeAsString(); }
  // Verified, as every graph of a front end must be.
  ir::Graph import(const GraphFileOptions& options = {},
                   const std::filesystem::path& path = "m.onnx") const {
    ir::Graph graph = parse_onnx_graph(bytes(), path, options);
    ir::verify(graph);
    return graph;
  }
};

// "f32[B, 4]" of the first output.
inline std::string output_type(const ir::Graph& graph) {
  return ir::to_string(graph.outputs.at(0)->type);
}

inline OnnxNames input_names(const ir::Graph& graph) {
  OnnxNames names;
  for (const ir::Value* input : graph.inputs) names.push_back(input->name);
  return names;
}

// A graph attribute: its inputs and outputs by name, untyped.
inline pb::GraphProto subgraph(const OnnxNames& inputs, const OnnxNames& outputs) {
  pb::GraphProto graph;
  graph.set_name("body");
  for (const std::string& name : inputs) graph.add_input()->set_name(name);
  for (const std::string& name : outputs) graph.add_output()->set_name(name);
  return graph;
}

}  // namespace tcc::testing
