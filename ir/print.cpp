#include <charconv>
#include <cmath>

#include "ir/op.h"
#include "ir/text.h"
#include "ir/text_names.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

constexpr int64_t kSpelledOut = 16;  // elements of a literal tensor

template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

// The shortest text that reads back as the same value of `dtype`.
std::string float_text(DType dtype, double value) {
  return dtype == DType::f64 ? shortest(value) : shortest(static_cast<float>(value));
}

std::string int_text(DType dtype, int64_t value) {
  if (dtype == DType::boolean) return value ? "true" : "false";
  return dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

std::string splat_text(DType dtype, double value) {
  if (is_float(dtype)) return float_text(dtype, value);
  // Exact, and beyond i64's range only for u64.
  const bool large = value >= 0x1p63;
  return int_text(dtype, large ? static_cast<int64_t>(static_cast<uint64_t>(value))
                               : static_cast<int64_t>(value));
}

std::string elements_text(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  std::string text;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    if (i > 0) text += ", ";
    text += is_float(dtype) ? float_text(dtype, tensor.get(i)) : int_text(dtype, tensor.get_int(i));
  }
  return tensor.shape().empty() ? text : "[" + text + "]";
}

std::string data_text(const Value& value) {
  if (!value.data->is_literal()) return "weight";
  if (const auto splat = value.data->splat()) return "const " + splat_text(value.dtype(), *splat);
  const TensorPtr tensor = value.data->load();
  return tensor->numel() > kSpelledOut ? "weight" : "const " + elements_text(*tensor);
}

std::string constant_text(const Value& value) {
  return value.is_mutable ? "mutable weight" : data_text(value);
}

// "state", with its first value where that is not zeros.
std::string state_text(const Value& value) {
  return value.data ? "state " + data_text(value) : "state";
}

std::string typed(const Value& value) {
  return "%" + name_text(value.name) + ": " + to_string(value.type);
}

std::string operands_text(const Node& node) {
  size_t count = node.inputs.size();
  while (count > 0 && !node.inputs[count - 1]) --count;  // omitted at the end
  std::string text;
  for (size_t k = 0; k < count; ++k) {
    if (k > 0) text += ", ";
    text += node.inputs[k] ? "%" + name_text(node.inputs[k]->name) : "_";
  }
  return "(" + text + ")";
}

std::string attrs_text(const Node& node) {
  std::string text;
  for (const AttrDef& def : node.op->attrs) {
    const std::string value = to_string(node.attrs.find(def.name)->second);
    if (def.default_value && to_string(*def.default_value) == value) continue;
    text += (text.empty() ? "" : ", ") + def.name + " = " + value;
  }
  return text.empty() ? "" : " {" + text + "}";
}

std::string node_text(const Node& node) {
  TCC_CHECK(node.subgraphs.empty(), "the text of subgraphs is not defined");
  std::string text;
  for (const Value* output : node.outputs) text += (text.empty() ? "" : ", ") + typed(*output);
  return text + " = " + std::string(node.op_name()) + operands_text(node) + attrs_text(node);
}

std::string input_text(const Value& value) {
  std::string text = typed(value) + " = input";
  if (const auto& range = value.random_range)
    text += str(" range [", range->first, ", ", range->second, ")");
  return text;
}

std::string return_text(const Graph& graph) {
  std::string text;
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    const std::string& value = graph.outputs[k]->name;
    text += (k == 0 ? " %" : ", %") + name_text(value);
    if (k < graph.output_names.size() && graph.output_names[k] != value)
      text += " as " + quote(graph.output_names[k]);
  }
  return "return" + text;
}

std::string dims_text(const Graph& graph) {
  std::string text;
  for (const auto& [symbol, value] : graph.dims)
    text += (text.empty() ? "" : ", ") + str(symbol, " = ", value);
  return text.empty() ? "" : "(" + text + ")";
}

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) {
  std::string text = "graph @" + name_text(graph.name) + dims_text(graph) + " {\n";
  for (const Value* input : graph.inputs) text += "  " + input_text(*input) + "\n";
  for (const Value* state : graph.states)
    text += "  " + typed(*state) + " = " + state_text(*state) + "\n";
  for (const auto& value : graph.values())
    if (value->is_constant()) text += "  " + typed(*value) + " = " + constant_text(*value) + "\n";
  for (const auto& node : graph.nodes()) {
    text += "  " + node_text(*node);
    const std::string where = options.locations ? to_string(node->location) : "";
    text += where.empty() ? "\n" : "  # " + quote(where) + "\n";
  }
  return text + "  " + return_text(graph) + "\n}\n";
}

}  // namespace tcc::ir
