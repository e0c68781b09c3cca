#include "tests/fuzz/onnx_mutator.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tcc::fuzz {
namespace {

namespace pb = ::onnx;

constexpr const char* kAttributes[] = {"axis",
                                       "axes",
                                       "perm",
                                       "to",
                                       "keepdims",
                                       "kernel_shape",
                                       "strides",
                                       "pads",
                                       "dilations",
                                       "group",
                                       "alpha",
                                       "beta",
                                       "epsilon",
                                       "mode",
                                       "auto_pad",
                                       "equation",
                                       "direction",
                                       "blocksize",
                                       "num_outputs",
                                       "split",
                                       "shape",
                                       "value_ints",
                                       "value_int",
                                       "num_scan_inputs",
                                       "batch_dims",
                                       "block_size",
                                       "output_shape",
                                       "output_padding",
                                       "ceil_mode",
                                       "largest",
                                       "noop_with_empty_axes",
                                       "scan_input_axes",
                                       "dtype",
                                       "k",
                                       "p",
                                       "size",
                                       "starts",
                                       "ends",
                                       "scales",
                                       "layout",
                                       "coordinate_transformation_mode",
                                       "keep_aspect_ratio_policy",
                                       "num_groups",
                                       "training_mode",
                                       "storage_order",
                                       "reduction",
                                       "upper",
                                       "allowzero",
                                       "new_axis",
                                       "onesided",
                                       "exclusive",
                                       "q_num_heads",
                                       "kv_num_heads",
                                       "num_heads",
                                       "is_causal",
                                       "softcap",
                                       "qk_matmul_output_mode",
                                       "left_window_size",
                                       "softmax_precision",
                                       "rotary_embedding_dim",
                                       "interleaved",
                                       "update_rule",
                                       "activation",
                                       "output_dtype",
                                       "precision",
                                       "stash_type",
                                       "offset_group",
                                       "pooled_shape",
                                       "sample_size"};
constexpr const char* kTexts[] = {"linear",
                                  "cubic",
                                  "SAME_UPPER",
                                  "VALID",
                                  "bidirectional",
                                  "ij,jk->ik",
                                  "...i,i->...",
                                  "reflect",
                                  "mean",
                                  "not_larger",
                                  "tf_crop_and_resize",
                                  "\n",
                                  "",
                                  "add",
                                  "gated",
                                  "delta",
                                  "swish",
                                  "circular",
                                  "CRD"};

class Mutation {
 public:
  Mutation(pb::ModelProto& model, uint32_t seed) : model_(model), random_(seed) {}

  void build(const onnx::Rule& rule) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(static_cast<int64_t>(1 + below(onnx::kNewestOpset)));
    if (!rule.domain.empty()) {
      model_.add_opset_import()->set_domain(std::string(rule.domain));
      model_.mutable_opset_import(1)->set_version(1);
    }
    pb::GraphProto& graph = *model_.mutable_graph();
    pb::NodeProto node;
    node.set_op_type(std::string(rule.op));
    node.set_domain(std::string(rule.domain));
    const size_t rank = below(6);
    for (size_t k = 0, count = below(6); k < count; ++k)
      node.add_input(add_operand(graph, k, rank));
    for (size_t count = below(4); count > 0; --count) {
      pb::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(kAttributes[below(std::size(kAttributes))]);
      set_value(attribute, rank);
    }
    if (below(2) == 0) {
      // Most operators of images ask for this.
      pb::AttributeProto& kernel = *node.add_attribute();
      kernel.set_name("kernel_shape");
      for (size_t d = 2; d < rank; ++d) kernel.add_ints(static_cast<int64_t>(1 + below(3)));
    }
    for (size_t k = 0, count = 1 + below(3); k < count; ++k) {
      node.add_output("y" + std::to_string(k));
      graph.add_output()->set_name(node.output(static_cast<int>(k)));
    }
    *graph.add_node() = node;
  }

  void run() {
    pb::GraphProto* graph = model_.mutable_graph();
    for (int depth = 0; depth < 3 && below(4) == 0; ++depth)
      if (pb::GraphProto* inner = subgraph_of(*graph)) graph = inner;
    for (size_t steps = 1 + below(4); steps > 0; --steps) change(*graph);
  }

 private:
  size_t below(size_t count) { return random_() % count; }

  template <class List>
  auto* any(List* list) {
    return list->empty()
               ? nullptr
               : list->Mutable(static_cast<int>(below(static_cast<size_t>(list->size()))));
  }

  int64_t number() {
    static constexpr int64_t interesting[] = {0,
                                              1,
                                              -1,
                                              2,
                                              3,
                                              4,
                                              7,
                                              -2,
                                              -5,
                                              64,
                                              1000,
                                              4097,
                                              int64_t{1} << 20,
                                              int64_t{1} << 31,
                                              int64_t{1} << 40,
                                              int64_t{1} << 62,
                                              std::numeric_limits<int64_t>::max(),
                                              std::numeric_limits<int64_t>::min()};
    return below(3) == 0 ? interesting[below(std::size(interesting))]
                         : static_cast<int64_t>(below(6)) - 1;
  }

  // Mostly of one rank and small dims, so that operands fit each other.
  std::string add_operand(pb::GraphProto& graph, size_t number_of, size_t rank) {
    const std::string name = "x" + std::to_string(number_of);
    if (below(10) == 0) return "";
    if (number_of > 0 && below(3) == 0) {
      pb::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(pb::TensorProto::INT64);
      const size_t count = below(2) == 0 ? rank : below(5);
      if (count != 1 || below(2) == 0) tensor.add_dims(static_cast<int64_t>(count));
      if (tensor.dims_size() == 0) tensor.add_int64_data(number());
      for (size_t k = 0; tensor.dims_size() > 0 && k < count; ++k) tensor.add_int64_data(number());
      return name;
    }
    constexpr int kUint4 = 21, kInt4 = 22, kFloat4 = 23;  // younger than some onnx.proto
    static constexpr int types[] = {pb::TensorProto::FLOAT,
                                    pb::TensorProto::FLOAT16,
                                    pb::TensorProto::INT64,
                                    pb::TensorProto::INT32,
                                    pb::TensorProto::UINT8,
                                    pb::TensorProto::INT8,
                                    pb::TensorProto::BOOL,
                                    pb::TensorProto::DOUBLE,
                                    kUint4,
                                    kInt4,
                                    kFloat4};
    pb::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(types[below(2) == 0 ? 0 : below(std::size(types))]);
    auto& shape = *tensor.mutable_shape();
    const int64_t extent = static_cast<int64_t>(below(4));
    for (size_t d = 0, own = below(3) == 0 ? below(5) : rank; d < own; ++d) {
      auto& dim = *shape.add_dim();
      switch (below(8)) {
        case 0: dim.set_dim_param("n"); break;
        case 1: dim.set_dim_value(static_cast<int64_t>(below(6))); break;
        default: dim.set_dim_value(number_of == 0 ? extent + 1 : extent); break;
      }
    }
    return name;
  }

  void set_value(pb::AttributeProto& attribute, size_t rank) {
    switch (below(6)) {
      case 0: attribute.set_s(kTexts[below(std::size(kTexts))]); break;
      case 1: attribute.set_f(static_cast<float>(number())); break;
      case 2: attribute.set_i(number()); break;
      default: {
        const size_t lengths[] = {rank, rank < 2 ? 0 : rank - 2, rank < 2 ? 0 : 2 * (rank - 2), 2,
                                  below(7)};
        for (size_t count = lengths[below(5)]; count > 0; --count) attribute.add_ints(number());
      }
    }
  }

  pb::GraphProto* subgraph_of(pb::GraphProto& graph) {
    if (pb::NodeProto* node = any(graph.mutable_node()))
      for (pb::AttributeProto& attribute : *node->mutable_attribute())
        if (attribute.has_g()) return attribute.mutable_g();
    return nullptr;
  }

  std::string name(const pb::GraphProto& graph) {
    std::vector<std::string> names = {""};
    for (const auto& input : graph.input()) names.push_back(input.name());
    for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output()) names.push_back(output);
    return names[below(names.size())];
  }

  void set_operator(pb::NodeProto& node) {
    static const std::vector<const onnx::Rule*> rules = onnx::all_rules();
    const onnx::Rule& rule = *rules[below(rules.size())];
    node.set_op_type(std::string(rule.op));
    node.set_domain(std::string(rule.domain));
  }

  void change_attribute(pb::NodeProto& node) {
    pb::AttributeProto* attribute = any(node.mutable_attribute());
    if (!attribute || below(2) == 0) {
      attribute = node.add_attribute();
      attribute->set_name(kAttributes[below(std::size(kAttributes))]);
    }
    const std::string kept = attribute->name();
    switch (below(6)) {
      case 0: node.mutable_attribute()->RemoveLast(); return;
      case 1: attribute->set_s(kTexts[below(std::size(kTexts))]); break;
      case 2: attribute->set_f(static_cast<float>(number())); break;
      case 3: attribute->set_i(number()); break;
      default:
        attribute->clear_ints();
        for (size_t count = below(5); count > 0; --count) attribute->add_ints(number());
    }
  }

  void change_tensor(pb::TensorProto& tensor) {
    switch (below(3)) {
      case 0: tensor.set_data_type(static_cast<int32_t>(below(30))); return;
      case 1:
        if (tensor.dims_size() > 0 && below(2) == 0)
          tensor.set_dims(0, number());
        else
          tensor.add_dims(number());
        return;
      default: break;
    }
    tensor.clear_raw_data();
    tensor.clear_dims();
    tensor.clear_int64_data();
    tensor.set_data_type(pb::TensorProto::INT64);
    const size_t count = below(5);
    if (count != 1 || below(2) == 0) tensor.add_dims(static_cast<int64_t>(count));
    for (size_t k = 0; k < count; ++k) tensor.add_int64_data(number());
  }

  void change_input(pb::ValueInfoProto& input) {
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    if (below(3) == 0) tensor.set_elem_type(static_cast<int32_t>(below(30)));
    auto* dims = tensor.mutable_shape()->mutable_dim();
    if (below(4) == 0 && !dims->empty()) {
      dims->RemoveLast();
    } else {
      auto* dim = below(2) == 0 ? dims->Add() : any(dims);
      if (!dim) return;
      if (below(3) == 0)
        dim->set_dim_param(below(2) == 0 ? "n" : "2*n-m");
      else
        dim->set_dim_value(number());
    }
  }

  void add_node(pb::GraphProto& graph) {
    pb::NodeProto& node = *graph.add_node();
    set_operator(node);
    for (size_t count = below(5); count > 0; --count) node.add_input(name(graph));
    node.add_output("new" + std::to_string(below(1000000)));
    graph.add_output()->set_name(node.output(0));
    if (below(2) == 0) change_attribute(node);
  }

  void change(pb::GraphProto& graph) {
    pb::NodeProto* node = any(graph.mutable_node());
    switch (below(10)) {
      case 0:
        if (node) set_operator(*node);
        break;
      case 1: add_node(graph); break;
      case 2:
      case 3:
        if (node) change_attribute(*node);
        break;
      case 4:
        if (node && node->input_size() > 0)
          node->set_input(static_cast<int>(below(static_cast<size_t>(node->input_size()))),
                          name(graph));
        break;
      case 5:
        if (node) node->add_input(name(graph));
        break;
      case 6: {
        pb::TensorProto* tensor =
            below(3) == 0 ? graph.add_initializer() : any(graph.mutable_initializer());
        if (!tensor) break;
        if (tensor->name().empty()) tensor->set_name("w" + std::to_string(below(1000000)));
        change_tensor(*tensor);
        break;
      }
      case 7:
        if (pb::ValueInfoProto* input = any(graph.mutable_input())) change_input(*input);
        break;
      case 8:
        // The output of a shape computation decides the next one.
        if (node && graph.input_size() > 0) {
          pb::NodeProto& shape = *graph.add_node();
          shape.set_op_type("Shape");
          shape.add_input(name(graph));
          shape.add_output("shape" + std::to_string(below(1000000)));
          add_node(graph);
          graph.mutable_node(graph.node_size() - 1)->add_input(shape.output(0));
        }
        break;
      default:
        if (model_.opset_import_size() > 0)
          model_.mutable_opset_import(0)->set_version(
              static_cast<int64_t>(below(onnx::kNewestOpset + 2)));
    }
  }

  pb::ModelProto& model_;
  std::mt19937 random_;
};

}  // namespace

pb::ModelProto random_model(const onnx::Rule& rule, uint32_t seed) {
  pb::ModelProto model;
  Mutation(model, seed).build(rule);
  return model;
}

void mutate(pb::ModelProto& model, uint32_t seed) { Mutation(model, seed).run(); }

}  // namespace tcc::fuzz
