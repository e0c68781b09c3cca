// libFuzzer target for ONNX models: bytes are a graph that verifies and prints, and whose symbols
// can be bound, or are refused with Error(bad_input) in one line. Most mutations keep the
// bytes a protobuf message.
#include <cstring>
#include <string>

#include "frontend/graph_file.h"
#include "tests/fuzz/graph_reader.h"
#include "tests/fuzz/onnx_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

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
  tcc::fuzz::check_reader([&] { return tcc::parse_onnx_graph(bytes, "/nonexistent/model.onnx"); });
  return 0;
}
