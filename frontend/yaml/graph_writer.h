// Writes graphs as YAML (docs/yaml-format.md), so that users can read, edit and run an imported
// ONNX model.
#pragma once

#include <filesystem>
#include <string>

#include "ir/graph.h"

namespace tcc {

// Writes FOLDER/graph.yaml, which load_graph() reads as the same graph: inputs, outputs, dims and
// attributes, symbolic ones too. What no output needs is left out. Weights that are not drawn or
// constant go into FOLDER/weights.npz, or weights.safetensors if one of them is bf16 or f8. Names
// that YAML graphs cannot have are changed. Creates the folder; each file is replaced at once, the
// graph last.
//
// Throws Error(bad_input) for a graph that YAML cannot express: its limits, or a text attribute of
// control characters.
void write_yaml_graph(const ir::Graph& graph, const std::filesystem::path& folder);

// The text of graph.yaml alone. Throws the same errors.
std::string yaml_text(const ir::Graph& graph);

}  // namespace tcc
