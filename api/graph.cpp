#include <algorithm>
#include <set>

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

namespace {

// The inputs that the caller gives to the import of a graph.
class HostInputs : public GivenInputs {
 public:
  explicit HostInputs(const std::map<std::string, HostTensor>& inputs) {
    for (const auto& [name, tensor] : inputs)
      tensors_[name] =
          std::make_shared<const Tensor>(to_tensor(tensor, str("input ", quoted_name(name))));
  }
  std::optional<TensorInfo> info(const std::string& name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    return TensorInfo{found->second->dtype(), found->second->shape()};
  }
  TensorPtr load(const std::string& name) const override {
    used_.insert(name);
    return tensors_.at(name);
  }
  // Throws Error(bad_input) for a name that is neither an input of the graph nor became a constant.
  void check_all_used(const ir::Graph& graph) const {
    for (const auto& [name, tensor] : tensors_)
      if (!used_.contains(name) &&
          std::ranges::find(graph.inputs, name, &ir::Value::name) == graph.inputs.end())
        fail_input("the graph has no input ", quoted_name(name));
  }

 private:
  std::map<std::string, TensorPtr> tensors_;
  mutable std::set<std::string> used_;
};

// Sets what all ways to read a graph have in common, and reads it.
template <class Read>
ir::Graph read(GraphFileOptions& options, const std::map<std::string, std::int64_t>& dims,
               const std::map<std::string, std::string>& states,
               const std::map<std::string, HostTensor>& tensors, Read read) {
  const HostInputs inputs(tensors);
  options.dims.insert(dims.begin(), dims.end());
  options.states.assign(states.begin(), states.end());
  options.inputs = &inputs;
  options.is_tool = false;
  ir::Graph graph = read(options);
  inputs.check_all_used(graph);
  return graph;
}

template <class Read>
ir::Graph read_memory(const MemoryOptions& memory, Read parse) {
  GraphFileOptions options;
  options.files.insert(memory.files.begin(), memory.files.end());
  options.opens_files = !memory.folder.empty();
  options.read = memory.read;
  return read(options, memory.dims, memory.states, memory.inputs, parse);
}

}  // namespace

Graph Graph::load(const std::filesystem::path& path,
                  const std::map<std::string, std::int64_t>& dims,
                  const std::map<std::string, std::string>& states,
                  const std::map<std::string, HostTensor>& inputs) {
  GraphFileOptions options;
  return Graph(std::make_shared<const Impl>(
      Impl{read(options, dims, states, inputs,
                [&](const GraphFileOptions& how) { return load_graph(path, how); })}));
}

Graph Graph::from_yaml(std::string_view text, const std::filesystem::path& folder) {
  return Graph(std::make_shared<const Impl>(Impl{parse_yaml_graph(text, "<yaml>", folder)}));
}

Graph Graph::from_yaml(std::string_view text, const MemoryOptions& options) {
  return Graph(
      std::make_shared<const Impl>(Impl{read_memory(options, [&](const GraphFileOptions& how) {
        return parse_yaml_graph(text, "<yaml>", options.folder, how);
      })}));
}

Graph Graph::from_onnx(std::span<const std::byte> model, const MemoryOptions& options) {
  const std::string_view bytes(reinterpret_cast<const char*>(model.data()), model.size());
  return Graph(
      std::make_shared<const Impl>(Impl{read_memory(options, [&](const GraphFileOptions& how) {
        return parse_onnx_graph(bytes, options.folder / "<onnx>", how);
      })}));
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
