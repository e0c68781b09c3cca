#include "frontend/graph_file.h"

#include "support/error.h"
#include "support/file.h"
#include "support/log.h"

namespace tcc {

void warn_through_log(const std::string& text) { log_warning(LogChannel::compile, text); }

ir::Graph load_graph(const std::filesystem::path& path, const GraphFileOptions& options) {
  const std::string ending = path.extension();
  if (ending == ".onnx") return load_onnx_graph(path, options);
  if (ending != ".yaml" && ending != ".yml") {
    const MappedFile opened(path);  // a missing file, and a folder, are said to be that
    fail_input(path.string(), ": graphs are .yaml or .onnx files, not '", ending, "'");
  }
  return parse_yaml_graph(read_file(path, int64_t{16} << 20), path.string(), path.parent_path(),
                          options);
}

}  // namespace tcc
