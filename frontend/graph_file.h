// Graph files: YAML (docs/yaml-format.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tcc {

struct GraphFileOptions {
  uint64_t seed = 0;  // of weights that are drawn; each weight has a stream of its own, by its name
};

// By extension: .yaml or .yml. Throws Error(bad_input) as "FILE:LINE: ..." for whatever is wrong in
// the file. Weights are read or drawn on first use, so errors in weight files may come later; their
// presence, types and shapes are checked at once. External files must lie in the graph file's
// folder.
ir::Graph load_graph(const std::filesystem::path& path, const GraphFileOptions& options = {});

// YAML from memory; `name` stands for the file in messages, `folder` is where weight files are
// looked for.
ir::Graph parse_yaml_graph(std::string_view text, const std::string& name,
                           const std::filesystem::path& folder,
                           const GraphFileOptions& options = {});

}  // namespace tcc
