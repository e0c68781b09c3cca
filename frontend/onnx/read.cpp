// Reads an ONNX file: docs/onnx.md.
#include <google/protobuf/io/coded_stream.h>

#include <limits>

#include "frontend/graph_file.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/needs.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc {
namespace {

// Names and texts of the file may stand in a message: one line of a bounded length.
std::string one_line(std::string_view message) {
  constexpr size_t kMaxLength = 2000;
  std::string text(message.substr(0, kMaxLength));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text + (message.size() > kMaxLength ? "..." : "");
}

}  // namespace

ir::Graph load_onnx_graph(const std::filesystem::path& path, const GraphFileOptions& options) {
  const MappedFile file(path);
  return parse_onnx_graph(file.text(), path, options);
}

ir::Graph parse_onnx_graph(std::string_view bytes, const std::filesystem::path& path,
                           const GraphFileOptions& options) {
  // protobuf's own limit of a message.
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    fail_input(path.string(), ": is larger than 2 GiB; weights must be in external files");
  ::onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail_input(path.string(),
               ": is no ONNX model, or damaged: the protobuf message cannot be read");
  onnx::Importer importer(model, path, options);
  try {
    return importer.run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    std::string message = error.what();
    if (error.kind() == ErrorKind::bad_input && importer.was_incomplete())
      message += onnx::what_is_needed(model, path, options, importer);
    throw Error(error.kind(), one_line(message));
  }
}

}  // namespace tcc
