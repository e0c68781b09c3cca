// libFuzzer target for YAML graphs: a text is a graph that verifies and prints, and whose symbols
// can be bound, or is refused with Error(bad_input) in one line. Weight files are not found.
#include <cstdlib>
#include <string>

#include "frontend/graph_file.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"

namespace {

template <class Body>
bool accepted(Body body) {
  try {
    body();
    return true;
  } catch (const tcc::Error& error) {
    const bool one_line = std::string_view(error.what()).find('\n') == std::string_view::npos;
    if (error.kind() != tcc::ErrorKind::bad_input || !one_line) std::abort();
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tcc::ir::Graph graph;
  if (!accepted([&] { graph = tcc::parse_yaml_graph(text, "graph.yaml", "/nonexistent"); }))
    return 0;
  tcc::ir::verify(graph);
  const std::string printed = tcc::ir::print_graph(graph);
  if (tcc::ir::print_graph(tcc::ir::parse_graph(printed)) != printed) std::abort();
  tcc::ir::Graph bound;
  if (accepted([&] { bound = graph.bind({}); })) tcc::ir::verify(bound);
  return 0;
}
