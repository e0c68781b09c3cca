// Text IR in, a pass, text IR out.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace tcc::ir::test {

// The graph's text after `pass`, which must leave a valid graph.
template <class Pass>
std::string after(Pass pass, std::string_view text) {
  Graph graph = parse_graph(text);
  pass(graph);
  verify(graph);
  return print_graph(graph);
}

// Expects `pass` to make `expected` of `text`; both are normalised by parsing and printing.
template <class Pass>
void expect_pass(Pass pass, std::string_view text, std::string_view expected) {
  EXPECT_EQ(after(pass, text), print_graph(parse_graph(expected)));
}

// Expects `pass` to leave `text` as it is.
template <class Pass>
void expect_unchanged(Pass pass, std::string_view text) {
  expect_pass(pass, text, text);
}

}  // namespace tcc::ir::test
