// Attention as text, and what recognize_attention makes of it.
#pragma once

#include <string>
#include <string_view>

#include "ir/passes/recognize_attention.h"
#include "tests/check/check_pass.h"

namespace tcc::ir::test {

// Completes a body, which defines %y, to a graph: all bodies read these inputs.
inline std::string graph_of(std::string_view body, std::string_view dtype = "f32") {
  std::string text = R"(graph @g(T = 5) {
    %q: f32[2, 3, 4, 8] = input
    %k: f32[2, 3, T, 8] = input
    %v: f32[2, 3, T, 6] = input
    %bias: f32[2, 1, 1, T] = input
    %seen: bool[4, T] = input
  )" + std::string(body) +
                     "\nreturn %y }";
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += dtype.size())
    text.replace(at, 3, dtype);
  return text;
}

// The operands and attributes of the only attention in the graph after the pass; the whole graph
// where softmaxes or products are left.
inline std::string attention_of(std::string_view text) {
  Graph graph = parse_graph(text);
  recognize_attention(graph);
  verify(graph);
  const std::string printed = print_graph(graph);
  int count = 0;
  for (const auto& node : graph.nodes()) {
    if (node->op_name() == "softmax" || node->op_name() == "matmul") return printed;
    count += node->op_name() == "scaled_dot_product_attention";
  }
  if (count != 1) return printed;
  const size_t from = printed.find("attention(") + 10;
  return printed.substr(from, printed.find('\n', from) - from);
}

inline void expect_attention(std::string_view body, std::string_view expected) {
  EXPECT_EQ(attention_of(graph_of(body)), expected) << body;
}

inline void expect_no_attention(std::string_view text) {
  const std::string found = after(recognize_attention, text);
  EXPECT_EQ(found.find("attention("), std::string::npos) << found;
}

}  // namespace tcc::ir::test
