// Attention sinks: a column that is appended to the scores and dropped behind the softmax.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/text.h"
#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

struct Sink {
  std::string dtype = "f32";
  std::string scores = "";       // nodes that make "z" of the product "s"
  bool shifts = true;            // the maximum is subtracted, as exporters write it
  std::string kept = "end: -1";  // of the slice
};

// Two sequences, 4 heads that share 2, 33 queries, 40 keys.
ir::Graph graph_of(const Sink& c) {
  const std::string type = "{dtype: " + c.dtype + ", shape: ";
  return parse_yaml_graph(
      str("tcc: 1\nname: g\ninputs:\n  q: ", type, "[2, 4, 33, 16]}\n  k: ", type,
          "[2, 2, 40, 16]}\n  v: ", type, "[2, 2, 40, 16]}\n  sinks: {dtype: ", c.dtype,
          ", shape: [4]}\n",
          "nodes:\n  - {out: kk, op: repeat_interleave, in: [k], repeats: 2, dim: 1}\n"
          "  - {out: vv, op: repeat_interleave, in: [v], repeats: 2, dim: 1}\n"
          "  - {out: kt, op: transpose, in: [kk], dim0: 2, dim1: 3}\n"
          "  - {out: p, op: matmul, in: [q, kt]}\n  - {out: s, op: mul, in: [p, 0.25]}\n",
          c.scores.empty() ? "  - {out: z, op: mul, in: [s, 1.5]}\n" : c.scores,
          "  - {out: s1, op: reshape, in: [sinks], shape: [1, 4, 1, 1]}\n"
          "  - {out: s2, op: expand, in: [s1], size: [2, 4, 33, 1]}\n"
          "  - {out: all, op: cat, in: [z, s2], dim: -1}\n",
          c.shifts ? "  - {out: most, op: amax, in: [all], dim: -1, keepdim: true}\n"
                     "  - {out: x, op: sub, in: [all, most]}\n"
                   : "  - {out: x, op: mul, in: [all, 1.0]}\n",
          "  - {out: w, op: softmax, in: [x], dim: -1}\n  - {out: kept, op: slice, in: [w], dim: "
          "-1, ",
          c.kept, "}\n  - {out: y, op: matmul, in: [kept, vv]}\noutputs: [y]\n"),
      "g.yaml", ".");
}

size_t kernels(const Sink& c, const char* target) {
  backends::CompileOptions options;
  options.binaries = false;
  return backends::compile(graph_of(c), sched::target_by_name(target), options).kernels.size();
}

void expect_right(const Sink& c) {
  const ir::Graph graph = graph_of(c);
  for (const std::string& device : test::devices_present(test::Devices::software))
    EXPECT_EQ(test::difference(graph, device, test::draw_inputs(graph, {}), {}), "")
        << ir::print_graph(graph);
}

const char* const kCausal =
    "  - {out: m, op: causal_mask, size: [33, 40], diagonal: 7}\n"
    "  - {out: z, op: where, in: [m, s, -.inf]}\n";
// The first 5 queries see no key at all.
const char* const kHidden =
    "  - {out: m, op: causal_mask, size: [33, 40], diagonal: -5}\n"
    "  - {out: z, op: where, in: [m, s, -.inf]}\n";
const char* const kCapped =
    "  - {out: d, op: div, in: [s, 5.0]}\n  - {out: t, op: tanh, in: [d]}\n"
    "  - {out: z, op: mul, in: [t, 5.0]}\n";

TEST(AttentionSink, IsAFactorBehindOneKernel) {
  for (const char* dtype : {"f16", "bf16", "f32"})
    for (const char* scores : {"", kCausal, kHidden, kCapped})
      for (const bool shifts : {true, false}) {
        const Sink c = {.dtype = dtype, .scores = scores, .shifts = shifts};
        EXPECT_LE(kernels(c, "cuda:sm_90a"), 2u) << dtype << scores;
        EXPECT_LE(kernels(c, "cuda:sm_80"), 2u) << dtype << scores;
      }
}

TEST(AttentionSink, IsRight) {
  for (const char* dtype : {"f32", "f16"})
    for (const char* scores : {"", kCausal, kHidden, kCapped})
      expect_right({.dtype = dtype, .scores = scores, .shifts = dtype[1] == '3'});
  // A mask that is added hides by a low number, also all keys of a row.
  expect_right({.scores = "  - {out: m, op: causal_mask, size: [33, 40], diagonal: -5}\n"
                          "  - {out: a, op: where, in: [m, 0.0, -1.0e9]}\n"
                          "  - {out: z, op: add, in: [s, a]}\n"});
}

// Other slices and columns stay what they are.
TEST(AttentionSink, IsTheLastColumnOnly) {
  const Sink first = {.kept = "start: 1"};
  EXPECT_GT(kernels(first, "cuda:sm_90a"), 2u);
  expect_right(first);
}

}  // namespace
}  // namespace tcc
