// libFuzzer target for YAML graphs: a text is a graph that verifies and prints, and whose symbols
// can be bound, or is refused with Error(bad_input) in one line. Weight files are not found.
#include <string>

#include "frontend/graph_file.h"
#include "tests/fuzz/graph_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tcc::fuzz::check_reader(
      [&] { return tcc::parse_yaml_graph(text, "graph.yaml", "/nonexistent"); });
  return 0;
}
