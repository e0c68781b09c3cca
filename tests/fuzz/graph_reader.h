// The libFuzzer targets of graph files share this function.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"

namespace tcc::fuzz {

// Returns whether `body` ends without an error. Any error but a bad_input of one line ends the
// process.
template <class Body>
bool accepted(Body body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    const bool one_line = std::string_view(error.what()).find('\n') == std::string_view::npos;
    if (error.kind() != ErrorKind::bad_input || !one_line) {
      std::fprintf(stderr, "error %d: %s\n", static_cast<int>(error.kind()), error.what());
      std::abort();
    }
    return false;
  }
}

// `read` gives a graph that verifies, whose text parses back and whose symbols can be bound, or
// refuses.
template <class Read>
void check_reader(Read read) {
  ir::Graph graph;
  if (!accepted([&] { graph = read(); })) return;
  ir::verify(graph);
  const std::string printed = ir::print_graph(graph);
  if (ir::print_graph(ir::parse_graph(printed)) != printed) std::abort();
  ir::Graph bound;
  if (accepted([&] { bound = graph.bind({}); })) ir::verify(bound);
}

}  // namespace tcc::fuzz
