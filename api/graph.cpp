#include "api/impl.h"
#include "frontend/graph_file.h"
#include "frontend/yaml/graph_writer.h"

namespace tcc {
namespace {

ValueSpec spec_of(const ir::Value& value, const std::string& name) {
  ValueSpec spec{name, std::string(tcc::name(value.dtype())), {}};
  for (const ir::SymInt& dim : value.shape()) spec.shape.push_back(dim.to_string());
  return spec;
}

}  // namespace

Graph Graph::load(const std::filesystem::path& path,
                  const std::map<std::string, std::int64_t>& dims,
                  const std::map<std::string, std::string>& states) {
  GraphFileOptions options;
  options.dims.insert(dims.begin(), dims.end());
  options.states.assign(states.begin(), states.end());
  return Graph(std::make_shared<const Impl>(Impl{load_graph(path, options)}));
}

Graph Graph::from_yaml(std::string_view text, const std::filesystem::path& folder) {
  return Graph(std::make_shared<const Impl>(Impl{parse_yaml_graph(text, "<yaml>", folder)}));
}

namespace {

GraphFileOptions options_of(const MemoryOptions& memory) {
  GraphFileOptions options;
  options.dims.insert(memory.dims.begin(), memory.dims.end());
  options.files.insert(memory.files.begin(), memory.files.end());
  options.opens_files = !memory.folder.empty();
  options.read = memory.read;
  options.states.assign(memory.states.begin(), memory.states.end());
  return options;
}

}  // namespace

Graph Graph::from_yaml(std::string_view text, const MemoryOptions& options) {
  return Graph(std::make_shared<const Impl>(
      Impl{parse_yaml_graph(text, "<yaml>", options.folder, options_of(options))}));
}

Graph Graph::from_onnx(std::span<const std::byte> model, const MemoryOptions& options) {
  const std::string_view bytes(reinterpret_cast<const char*>(model.data()), model.size());
  return Graph(std::make_shared<const Impl>(
      Impl{parse_onnx_graph(bytes, options.folder / "<onnx>", options_of(options))}));
}

std::string Graph::to_yaml() const { return yaml_text(impl_->graph); }

void Graph::save(const std::filesystem::path& folder) const {
  write_yaml_graph(impl_->graph, folder);
}

std::string Graph::name() const { return impl_->graph.name; }

std::map<std::string, std::int64_t> Graph::dims() const {
  return {impl_->graph.dims.begin(), impl_->graph.dims.end()};
}

std::vector<ValueSpec> Graph::inputs() const {
  std::vector<ValueSpec> specs;
  for (const ir::Value* input : impl_->graph.inputs) specs.push_back(spec_of(*input, input->name));
  return specs;
}

std::vector<ValueSpec> Graph::states() const {
  std::vector<ValueSpec> specs;
  for (const ir::Value* state : impl_->graph.states) specs.push_back(spec_of(*state, state->name));
  return specs;
}

std::vector<ValueSpec> Graph::outputs() const {
  const ir::Graph& graph = impl_->graph;
  std::vector<ValueSpec> specs;
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    specs.push_back(spec_of(*graph.outputs[i], graph.output_names[i]));
  return specs;
}

}  // namespace tcc
