// Lists the dims and inputs that a caller must give before a model can be read.
#pragma once

#include <filesystem>
#include <string>

#include "frontend/graph_file.h"
#include "frontend/onnx/importer.h"

namespace tcc::onnx {

// Returns text for the end of the message of a failed import: "; it needs: tcc-run m.onnx --dim
// batch=1 --input k=NUMBER", or "; it needs: dims batch=1; inputs 'k'" where the caller is no tool.
// It is empty where neither dims nor inputs are missing, and where the same node fails whatever the
// dims are. The model is imported a few times more, with assumed dims and data.
std::string what_is_needed(const pb::ModelProto& model, const std::filesystem::path& path,
                           const GraphFileOptions& options, const Importer& failed);

}  // namespace tcc::onnx
