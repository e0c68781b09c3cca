// The graph IR as text, for tests of passes, for --dump-after and for people.
//
//   graph @mlp(B = 32) {
//     %x: f32[B, 784] = input
//     %ids: i64[B] = input range [0, 10)     # of random draws, hi excluded
//     %w1: f32[512, 784] = weight            # by name only
//     %b1: f32[512] = mutable weight
//     %half: f32[] = const 0.5               # every element
//     %few: i64[2, 2] = const [1, 2, 3, 4]   # row-major
//     %h: f32[B, 512] = linear(%x, %w1, _)   # an omitted operand; those at the end may be left out
//     %a: f32[B, 512] = gelu(%h) {approximate = "tanh"}   # what differs from the defaults
//     %v: f32[B], %i: i64[B] = max(%a) {dim = [1]}
//     return %a as "z", %v, %i
//   }
//
// Names of other characters than letters, digits and _ . / - are quoted: %"a b". Line ends mean
// nothing, except to comments. The types of op results may be left out when parsing; they are
// checked when they are there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tcc::ir {

struct PrintOptions {
  bool locations = false;  // where each node came from, as a comment
};

// Parses back to a graph that prints the same, if values have unique names (verify checks it).
// Constants that are literals (ConstantData::is_literal) are spelled out when they are splats or
// small; anything else is a `weight`.
std::string print_graph(const Graph& graph, const PrintOptions& options = {});

struct ParseOptions {
  std::string file = "text";  // for messages and locations
  // The data of a `weight`; without it, zeros that are allocated on first use.
  std::function<ConstantPtr(const std::string& name, const Type& type)> weight = {};
};

// Throws Error(bad_input) as "FILE:LINE: reason" for text that is not a graph. Any text is safe to
// parse: counts are limited, nothing recurses, and tensors are allocated only for what the text
// spells out.
Graph parse_graph(std::string_view text, const ParseOptions& options = {});

}  // namespace tcc::ir
