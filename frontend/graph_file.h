// Graph files: YAML (docs/yaml-format.md) and ONNX (docs/onnx.md).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/graph_files.h"
#include "frontend/tensor_file.h"
#include "ir/graph.h"

namespace tcc {

// The inputs that a graph will run on, as far as they are at hand when it is loaded.
class GivenInputs {
 public:
  virtual ~GivenInputs() = default;
  // Returns nothing for an input that is not at hand.
  virtual std::optional<TensorInfo> info(const std::string& name) const = 0;
  virtual TensorPtr load(const std::string& name) const = 0;
  // Returns the data of the graph's `input`: load(), unless the data has no type of its own.
  virtual TensorPtr load_for(const ir::Value& input) const { return load(input.name); }
};

// Logs a warning of the channel `compile`; by default it goes to standard error.
void warn_through_log(const std::string& text);

// Inputs that become states, and the outputs that become their next values, by name.
using StatePairs = std::vector<std::pair<std::string, std::string>>;

struct GraphFileOptions {
  uint64_t seed = 0;  // of weights that are drawn; each weight has a stream of its own, by its name
  // ONNX only. The sizes of these dims are fixed before the file is read, so that structure that
  // depends on their values (a loop over a dim) can be read.
  std::map<std::string, int64_t, std::less<>> dims = {};
  // ONNX only. An input whose data decides shapes (a reshape's target, a top-k count) becomes a
  // constant of the graph; without its data here the file is refused. The dims of the others are
  // taken from their shapes here.
  const GivenInputs* inputs = nullptr;
  // ONNX only. These dims stay symbols although the shapes of given inputs tell their sizes.
  std::set<std::string, std::less<>> open_dims = {};
  // Files that the graph names, as bytes, which must live as long as the graph and its copies; and
  // whether the others are looked for in the graph's folder.
  BytesByName files = {};
  bool opens_files = true;
  // ONNX only. Called for external data that is not in `files`, on first use, from any thread.
  ReadBytes read = {};
  // The input of each pair becomes a state, zeros at first, and the output, of the same type, what
  // is assigned to it: both are no longer among the graph's inputs and outputs.
  StatePairs states = {};
  // Errors propose options of the command line; false: the members of the API's options.
  bool is_tool = true;
  // Called with warnings about a file that is read all the same; the default logs them.
  std::function<void(const std::string&)> warn = warn_through_log;
};

// Loads a graph file by its extension: .yaml or .yml, .onnx. Throws Error(bad_input) "FILE:LINE:
// ..." for every mistake in the file. Weights are read or drawn on first use, so errors in weight
// files may come later; their presence, types and shapes are checked at once. External files must
// lie in the graph file's folder.
ir::Graph load_graph(const std::filesystem::path& path, const GraphFileOptions& options = {});

// Reads YAML from memory; messages call the file `name`, and weight files are looked for in
// `folder`.
ir::Graph parse_yaml_graph(std::string_view text, const std::string& name,
                           const std::filesystem::path& folder,
                           const GraphFileOptions& options = {});

// Loads an ONNX model of opsets 1 to 28; a newer opset gives a warning. Errors are "FILE: node N
// 'NAME' (OPERATOR): REASON". Symbolic dims have the default 1. External data must lie in the
// model's folder.
ir::Graph load_onnx_graph(const std::filesystem::path& path, const GraphFileOptions& options = {});
// Reads an ONNX model from memory; messages call the file `path`, and external data is looked for
// beside it.
ir::Graph parse_onnx_graph(std::string_view bytes, const std::filesystem::path& path,
                           const GraphFileOptions& options = {});

}  // namespace tcc
