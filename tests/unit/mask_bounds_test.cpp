// Attention behind masks that compare keys with numbers which are loaded: far from any key,
// combined with others, and where arithmetic of their type wraps.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/attention_cases.h"

namespace tcc {
namespace {

// A number of each batch.
std::string far_number(const char* name, const char* dtype, const char* range) {
  return str("  ", name, ": {dtype: ", dtype, ", shape: [2, 1, 1], range: [", range, "]}\n");
}

// "nodes" make the condition "m" of rows "i" and keys "j".
ir::Graph graph_of(const std::string& inputs, const std::string& nodes, const char* dtype) {
  return parse_yaml_graph(
      str("tcc: 1\nname: g\ninputs:\n  q: {dtype: f32, shape: [2, 40, 8]}\n"
          "  k: {dtype: f32, shape: [2, 65, 8]}\n",
          inputs, "nodes:\n  - {out: i, op: iota, size: [40, 1], dim: 0, dtype: ", dtype,
          "}\n  - {out: j, op: iota, size: [1, 65], dim: 1, dtype: ", dtype, "}\n", nodes,
          "  - {out: kt, op: transpose, in: [k], dim0: 1, dim1: 2}\n"
          "  - {out: s, op: matmul, in: [q, kt]}\n"
          "  - {out: x, op: where, in: [m, s, -.inf]}\n"
          "  - {out: p, op: softmax, in: [x], dim: -1}\n"
          "  - {out: z, op: isnan, in: [p]}\n  - {out: w, op: where, in: [z, 0.0, p]}\n"
          "  - {out: y, op: matmul, in: [w, k]}\noutputs: [y]\n"),
      "g.yaml", ".");
}

void expect_right(const char* name, const std::string& inputs, const std::string& nodes,
                  const char* dtype) {
  ::setenv("TCC_TEMPLATES", "-contraction", 1);
  const ir::Graph graph = graph_of(inputs, nodes, dtype);
  for (const std::string& device : test::devices_present(test::Devices::software))
    EXPECT_EQ(test::difference(graph, device, test::draw_inputs(graph, {}), {}), "")
        << name << " on " << device;
  ::unsetenv("TCC_TEMPLATES");
}

TEST(MaskBounds, DifferencesOfFarNumbersAreNear) {
  const std::string off = far_number("off", "i64", "5000000000, 5000000010"),
                    pos = far_number("pos", "i64", "5000000030, 5000000040");
  expect_right("keys and a number", off + pos,
               "  - {out: t, op: add, in: [off, j]}\n  - {out: m, op: le, in: [t, pos]}\n", "i64");
  expect_right("rows and a number, too", off + pos,
               "  - {out: t, op: add, in: [off, j]}\n  - {out: u, op: add, in: [pos, i]}\n"
               "  - {out: m, op: lt, in: [t, u]}\n",
               "i64");
  expect_right("numbers alone", off + pos,
               "  - {out: d, op: sub, in: [pos, off]}\n  - {out: m, op: le, in: [j, d]}\n", "i64");
  expect_right("a constant", far_number("off", "i32", "1700000000, 1700000010"),
               "  - {out: t, op: add, in: [off, j]}\n"
               "  - {out: m, op: le, in: [t, 1700000035]}\n",
               "i32");
  expect_right("twice a number", off,
               "  - {out: t, op: add, in: [off, i]}\n  - {out: d, op: mul, in: [t, 2]}\n"
               "  - {out: u, op: add, in: [j, 10000000020]}\n"
               "  - {out: m, op: gt, in: [u, d]}\n",
               "i64");
}

TEST(MaskBounds, ArithmeticOfATypeWraps) {
  expect_right("beyond the greatest", far_number("n", "i32", "2147483600, 2147483647"),
               "  - {out: t, op: add, in: [j, n]}\n  - {out: m, op: gt, in: [t, i]}\n", "i32");
  expect_right("beyond the least", far_number("n", "i32", "-2147483647, -2147483610"),
               "  - {out: t, op: sub, in: [n, j]}\n  - {out: m, op: ge, in: [t, 0]}\n", "i32");
  expect_right("of 64 bits", far_number("n", "i64", "9223372036854775740, 9223372036854775800"),
               "  - {out: t, op: add, in: [j, n]}\n  - {out: m, op: gt, in: [t, i]}\n", "i64");
}

TEST(MaskBounds, NumbersMayBeTheGreatestOfTheirType) {
  expect_right("of 32 bits", far_number("n", "i32", "2147483600, 2147483647"),
               "  - {out: m, op: le, in: [j, n]}\n", "i32");
  expect_right("of 64 bits", far_number("n", "i64", "-9223372036854775808, -9223372036854775700"),
               "  - {out: m, op: ge, in: [j, n]}\n", "i64");
}

}  // namespace
}  // namespace tcc
