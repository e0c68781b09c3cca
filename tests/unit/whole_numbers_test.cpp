// Integers that doubles would round are exact as attributes and as weights.
#include <gtest/gtest.h>

#include <cstdint>

#include "frontend/graph_file.h"
#include "ir/reference/interpreter.h"
#include "ir/text.h"
#include "tests/expect_error.h"
#include "tests/run_graph.h"

namespace tcc {
namespace {

constexpr int64_t kOdd = 9007199254740993;  // 2^53 + 1

// Returns the result "y" of nodes on "x", which is 5, and "m", which is true. Software devices give
// the same.
int64_t result_of(const std::string& dtype, const std::string& nodes,
                  const std::string& weights = "") {
  const std::string text = str("tcc: 1\ninputs: {}\nweights:\n  x: {dtype: ", dtype,
                               ", shape: [1], init: {constant: 5}, mutable: true}\n"
                               "  m: {dtype: bool, shape: [1], init: ones, mutable: true}\n",
                               weights, "nodes:\n", nodes, "outputs: [y]\n");
  const ir::Graph graph = parse_yaml_graph(text, "graph.yaml", ".");
  // As text and back.
  const ir::Graph again = ir::parse_graph(ir::print_graph(graph));
  EXPECT_EQ(ir::print_graph(again), ir::print_graph(graph));
  const int64_t expected = ir::interpret(graph, {}, ir::RefMode::ideal)[0].i[0];
  for (const std::string& device : test::devices_present(test::Devices::software))
    EXPECT_EQ(test::run_on_device(graph, device, {}, {})[0].get_int(0), expected) << text;
  return expected;
}

std::string number(int64_t value) { return std::to_string(value); }

TEST(WholeNumbers, AreExactAttributes) {
  for (const int64_t value : {kOdd, -kOdd, INT64_MAX, INT64_MIN}) {
    const std::string n = number(value);
    EXPECT_EQ(
        result_of("i64", "  - {out: y, op: full, size: [1], dtype: i64, fill_value: " + n + "}\n"),
        value);
    EXPECT_EQ(result_of("i64", "  - {out: y, op: full_like, in: [x], fill_value: " + n + "}\n"),
              value);
    EXPECT_EQ(result_of("i64", "  - {out: y, op: masked_fill, in: [x, m], value: " + n + "}\n"),
              value);
    EXPECT_EQ(result_of("i64", "  - {out: p, op: pad, in: [x], pad: [1, 0], value: " + n +
                                   "}\n  - {out: y, op: amax, in: [p], dim: 0}\n"),
              std::max<int64_t>(value, 5));
    EXPECT_EQ(result_of("i64", "  - {out: y, op: clamp, in: [x], min: " + n + "}\n"),
              std::max<int64_t>(value, 5));
    EXPECT_EQ(result_of("i64", "  - {out: y, op: clamp, in: [x], max: " + n + "}\n"),
              std::min<int64_t>(value, 5));
  }
  EXPECT_EQ(result_of("i64",
                      "  - {out: o, op: add, in: [x, -4]}\n  - {out: y, op: addcmul, in: "
                      "[x, o, o], value: 9007199254740993}\n"),
            kOdd + 5);
}

TEST(WholeNumbers, AreExactWeights) {
  for (const int64_t value : {kOdd, -kOdd, INT64_MAX, INT64_MIN})
    for (const char* is_mutable : {"true", "false"})
      EXPECT_EQ(result_of("i64", "  - {out: y, op: add, in: [w, 0]}\n",
                          str("  w: {dtype: i64, shape: [1], init: {constant: ", value,
                              "}, mutable: ", is_mutable, "}\n")),
                value);
}

TEST(WholeNumbers, ReachTheEndOfU64) {
  EXPECT_EQ(result_of("u64", "  - {out: y, op: bitwise_or, in: [x, 18446744073709551615]}\n"), -1);
  EXPECT_EQ(result_of("u64", "  - {out: y, op: bitwise_not, in: [w]}\n",
                      "  w: {dtype: u64, shape: [1], init: {constant: 9223372036854775809}}\n"),
            INT64_MAX - 1);
  EXPECT_EQ(result_of("u64", "  - {out: y, op: floor_divide, in: [w, 2]}\n",
                      "  w: {dtype: u64, shape: [1], init: {constant: 18446744073709551615}}\n"),
            INT64_MAX);
}

TEST(WholeNumbers, ThatATypeDoesNotHoldAreRefused) {
  EXPECT_ERROR(result_of("u64", "  - {out: y, op: masked_fill, in: [x, m], value: -1}\n"),
               "value = -1 is not a value of u64");
  EXPECT_ERROR(result_of("i32", "  - {out: y, op: clamp, in: [x], max: 9007199254740993}\n"),
               "max = 9007199254740993 is not a value of i32");
  EXPECT_ERROR(result_of("u64", "  - {out: y, op: add, in: [x, w]}\n",
                         "  w: {dtype: u64, shape: [1], init: {constant: -1}}\n"),
               "does not fit into u64");
}

// Where an op computes with floats, they are rounded as any number is.
TEST(WholeNumbers, AreNumbersOfFloats) {
  const ir::Graph graph = parse_yaml_graph(
      "tcc: 1\ninputs: {x: {dtype: f64, shape: [1]}}\nnodes:\n"
      "  - {out: a, op: clamp, in: [x], min: 9007199254740993}\n"
      "  - {out: y, op: layer_norm, in: [a], normalized_shape: [1], eps: 9007199254740993}\n"
      "outputs: [a, y]\n",
      "graph.yaml", ".");
  const std::vector<ir::RefTensor> results =
      ir::interpret(graph, std::vector{ir::to_ref(Tensor(DType::f64, {1}))}, ir::RefMode::ideal);
  EXPECT_EQ(results[0].f[0], 9007199254740992.0);
  EXPECT_EQ(results[1].f[0], 0.0);
}

}  // namespace
}  // namespace tcc
