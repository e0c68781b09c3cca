#include "frontend/yaml/graph_writer.h"

#include <algorithm>

#include "frontend/yaml/document.h"
#include "frontend/yaml/values.h"
#include "frontend/yaml/weight_writer.h"
#include "frontend/yaml/writer_names.h"
#include "frontend/yaml/writer_text.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc {
namespace {

using yaml::name_text;
using yaml::WriterNames;

std::string graph_name(std::string name) {
  std::ranges::replace_if(name, yaml::is_control, '_');
  return ir::quote(name.substr(0, 256));  // for reports only
}

std::string graph_dims(const ir::Graph& graph) {
  std::string text;
  for (const auto& [dim, value] : graph.dims) {
    if (!yaml::is_dim_name(dim)) fail_input("dim ", ir::quote(dim), " has no name of YAML graphs");
    text += (text.empty() ? "" : ", ") + str(name_text(dim), ": ", value);
  }
  return "dims: {" + text + "}\n";
}

std::string input_text(const ir::Value& input, const std::string& name) {
  std::string text = str("  ", name_text(name), ": {dtype: ", tcc::name(input.dtype()),
                         ", shape: ", yaml::shape_text(input));
  if (const auto& range = input.random_range; range && is_integer(input.dtype()))
    text += str(", range: [", range->first, ", ", range->second, "]");
  return text + "}\n";
}

std::string operands_text(const ir::Node& node, const WriterNames& names) {
  size_t count = node.inputs.size();
  while (count > 0 && !node.inputs[count - 1]) --count;  // omitted at the end
  std::string text;
  for (size_t k = 0; k < count; ++k) {
    const ir::Value* input = node.inputs[k];
    text += (k ? ", " : "") + (input ? name_text(names.of(input)) : "null");
  }
  return count == 0 ? "" : ", in: [" + text + "]";
}

// Writes only attributes that differ from their defaults.
std::string attrs_text(const ir::Node& node) {
  std::string text;
  for (const ir::AttrDef& def : node.op->attrs) {
    const ir::Attr& attr = node.attrs.find(def.name)->second;
    if (def.default_value && ir::to_string(*def.default_value) == ir::to_string(attr)) continue;
    try {
      text += ", " + def.name + ": " + yaml::attr_text(attr);
    } catch (const Error& error) {
      fail_input(node.op_name(), ": attribute '", def.name, "': ", error.what());
    }
  }
  return text;
}

std::string results_text(const ir::Node& node, const WriterNames& names) {
  std::string text;
  for (const ir::Value* output : node.outputs)
    text += (text.empty() ? "" : ", ") + name_text(names.of(output));
  return node.outputs.size() == 1 ? text : "[" + text + "]";
}

std::string node_text(const ir::Node& node, const WriterNames& names) {
  TCC_CHECK(node.subgraphs.empty(), "YAML graphs have no subgraphs");
  return str("  - {out: ", results_text(node, names), ", op: ", node.op_name(),
             operands_text(node, names), attrs_text(node), "}\n");
}

std::string nodes_text(const ir::Graph& graph, const WriterNames& names) {
  std::string text;
  for (const auto& node : graph.nodes()) text += node_text(*node, names);
  for (const auto& [name, value] : names.copies())
    text += str("  - {out: ", name_text(name), ", op: identity, in: [", name_text(names.of(value)),
                "]}\n");
  return text.empty() ? "nodes: []\n" : "nodes:\n" + text;
}

std::string outputs_text(const WriterNames& names) {
  std::string text;
  for (const std::string& name : names.outputs())
    text += (text.empty() ? "" : ", ") + name_text(name);
  return "outputs: [" + text + "]\n";
}

// A graph as it is written.
struct Written {
  explicit Written(const ir::Graph& given)
      : graph(live(given)), names(graph), weights(graph, names) {}

  static ir::Graph live(const ir::Graph& given) {
    ir::Graph graph = given.clone();
    graph.remove_dead();
    return graph;
  }

  // Within the reader's limits: `path` is the file's name in messages.
  std::string text(const std::string& path) const {
    std::string text = "tcc: 1\nname: " + graph_name(graph.name) + "\n";
    if (!graph.dims.empty()) text += graph_dims(graph);
    std::string inputs;
    for (const ir::Value* input : graph.inputs) inputs += input_text(*input, names.of(input));
    text += inputs.empty() ? "inputs: {}\n" : "inputs:\n" + inputs;
    if (!graph.states.empty()) text += "states:\n" + weights.states_text(graph);
    if (const std::string entries = weights.text(); !entries.empty())
      text += "weights:\n" + entries;
    text += nodes_text(graph, names) + outputs_text(names);
    yaml::parse_document(text, path);
    return text;
  }

  const ir::Graph graph;
  const WriterNames names;
  const yaml::WeightWriter weights;
};

}  // namespace

std::string yaml_text(const ir::Graph& graph) { return Written(graph).text("<yaml>"); }

void write_yaml_graph(const ir::Graph& graph, const std::filesystem::path& folder) {
  const Written written(graph);
  const std::filesystem::path path = folder / "graph.yaml";
  const std::string text = written.text(path.string());  // before anything is there
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_input(folder.string(), ": ", error.message());
  written.weights.write_file(folder);
  write_file_atomic(path, text);
}

}  // namespace tcc
