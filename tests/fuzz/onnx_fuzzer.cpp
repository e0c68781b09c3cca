// libFuzzer target for ONNX models: bytes are a graph that verifies and prints, and whose symbols
// can be bound, or are refused with Error(bad_input) in one line. Most mutations keep the
// bytes a protobuf message.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "frontend/graph_file.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/fuzz/onnx_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

template <class Body>
bool accepted(Body body) {
  try {
    body();
    return true;
  } catch (const tcc::Error& error) {
    const std::string_view text = error.what();
    if (error.kind() != tcc::ErrorKind::bad_input || text.find('\n') != std::string_view::npos) {
      std::fprintf(stderr, "error %d: %s\n", static_cast<int>(error.kind()), error.what());
      std::abort();
    }
    return false;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  onnx::ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  tcc::fuzz::mutate(model, seed);
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  tcc::ir::Graph graph;
  if (!accepted([&] { graph = tcc::parse_onnx_graph(bytes, "/nonexistent/model.onnx"); })) return 0;
  tcc::ir::verify(graph);
  const std::string printed = tcc::ir::print_graph(graph);
  if (tcc::ir::print_graph(tcc::ir::parse_graph(printed)) != printed) std::abort();
  tcc::ir::Graph bound;
  if (accepted([&] { bound = graph.bind({}); })) tcc::ir::verify(bound);
  return 0;
}
