// Conformance: graphs that are compiled once, with a dim left open, and run at many sizes.
#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "ir/passes/single_run.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

constexpr int64_t kSizes[] = {0, 1, 2, 3, 17, 64, 257};

class OpenDimsTest : public DeviceTest {
 protected:
  void compile(const std::string& body, bool fuse = true,
               const sched::ConfigSource* configs = nullptr, const ir::SizeRange& range = {}) {
    graph = parse_yaml_graph("tcc: 1\ndims: {B: 16}\n" + body, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = {{"B", range}};
    options.fuse = fuse;
    options.configs = configs;
    options.validate = true;
    program = std::make_shared<const Program>(device,
                                              backends::compile(graph, device->target(), options));
  }

  // The one program at every size, from `least` on, against the reference.
  void expect_right(int64_t least = 0, std::span<const int64_t> sizes = kSizes) {
    ASSERT_EQ(program->executable().dims.size(), 1u);
    for (const int64_t size : sizes) {
      if (size < least) continue;
      const ir::Graph bound = graph.bind({{"B", size}});
      const std::vector<Tensor> inputs = test::draw_inputs(bound, {.int_hi = 4, .seed = 5});
      Context context(program, nullptr, {{"B", size}});
      std::vector<Tensor> results = context.run(inputs);
      if (!runs_kernels()) continue;
      for (size_t i = 0; i < bound.states.size(); ++i) results.push_back(context.state(i));
      const auto compared = ir::check_outputs(ir::single_run(bound), inputs, results);
      for (size_t i = 0; i < compared.size(); ++i)
        EXPECT_TRUE(compared[i].pass) << "B = " << size << ", " << i << ": " << compared[i].reason;
    }
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
};
TCC_ON_EVERY_DEVICE(OpenDimsTest);

TEST_P(OpenDimsTest, PointwiseKernels) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}, y: {dtype: bf16, shape: [B, 48]}}\n"
      "weights: {b: {dtype: f32, shape: [48], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: s, op: add, in: [x, b]}\n"
      "  - {out: g, op: gelu, in: [s]}\n"
      "  - {out: z, op: mul, in: [g, y]}\n"
      "outputs: [z, g]\n");
  expect_right();
}

TEST_P(OpenDimsTest, RowsAreReduced) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 6, 96]}}\n"
      "weights: {w: {dtype: f32, shape: [96], init: {normal: 1}},\n"
      "  b: {dtype: f32, shape: [96], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: n, op: layer_norm, in: [x, w, b], normalized_shape: [96]}\n"
      "  - {out: p, op: softmax, in: [n], dim: -1}\n"
      "  - {out: m, op: amax, in: [p], dim: [1, 2]}\n"
      "  - {out: i, op: argmax, in: [x], dim: 2}\n"
      "outputs: [n, p, m, i]\n");
  expect_right();
}

// Columns are reduced: neighbouring threads take neighbouring rows.
TEST_P(OpenDimsTest, ColumnsAreReduced) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 40, 24]}}\n"
      "nodes:\n"
      "  - {out: s, op: sum, in: [x], dim: [1]}\n"
      "  - {out: y, op: exp, in: [s]}\n"
      "outputs: [y]\n");
  expect_right();
}

// Rows are open: their elements are neighbours, or rows are.
TEST_P(OpenDimsTest, OpenRowsAreReduced) {
  compile(
      "inputs: {x: {dtype: f32, shape: [6, B]}, y: {dtype: bf16, shape: [3, B, 5]}}\n"
      "nodes:\n"
      "  - {out: p, op: softmax, in: [x], dim: 1}\n"
      "  - {out: s, op: sum, in: [p], dim: [1]}\n"
      "  - {out: c, op: sum, in: [y], dim: [1]}\n"
      "  - {out: a, op: sum, in: [y], dim: [0, 1, 2]}\n"
      "  - {out: q, op: softmax, in: [y], dim: 1}\n"
      "outputs: [p, s, c, a, q]\n");
  expect_right();
}

// By whatever config: rows of no elements store none.
TEST_P(OpenDimsTest, OpenRowsAreReducedByOneThreadOrMany) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const test::RandomConfigs configs(seed, {{"keep", 0}, {"row_threads", seed % 2 ? 1 : 32}});
    compile(
        "inputs: {x: {dtype: f32, shape: [6, B]}}\n"
        "nodes: [{out: p, op: softmax, in: [x], dim: 1}]\n"
        "outputs: [p]\n",
        true, &configs);
    expect_right();
  }
}

// Kernels of multiples stand beside those of other lengths, whose rows begin anywhere.
TEST_P(OpenDimsTest, OpenRowsOfAnyLength) {
  std::vector<int64_t> sizes = {1, 2, 3, 5, 1000, 1021, 4093, 4095, 4096};
  for (int64_t power = 8; power <= 2048; power *= 2)
    sizes.insert(sizes.end(), {power - 1, power, power + 1, power + 2, power + 4, power + 8});
  std::mt19937_64 random(7);
  for (int i = 0; i < 8; ++i) sizes.push_back(static_cast<int64_t>(1 + random() % 4096));
  for (const char* op : {"softmax, in: [x], dim: -1", "log_softmax, in: [x], dim: -1",
                         "layer_norm, in: [x, w, w], normalized_shape: [B]",
                         "rms_norm, in: [x, w], normalized_shape: [B]", "sum, in: [x], dim: [1]",
                         "argmax, in: [x], dim: 1", "mul, in: [x, w]"}) {
    SCOPED_TRACE(op);
    compile(str("inputs: {x: {dtype: bf16, shape: [5, B]}, w: {dtype: bf16, shape: [B]}}\n"
                "nodes: [{out: y, op: ",
                op, "}]\noutputs: [y]\n"),
            true, nullptr, {1, 4096, 1});
    expect_right(1, sizes);
  }
}

TEST_P(OpenDimsTest, OpenRowsHaveStatistics) {
  compile(
      "inputs: {x: {dtype: f32, shape: [6, B]}, y: {dtype: f32, shape: [B, 40]},\n"
      "  w: {dtype: f32, shape: [B]}}\n"
      "nodes:\n"
      "  - {out: m, op: mean, in: [x], dim: [1], keepdim: true}\n"
      "  - {out: c, op: sub, in: [x, m]}\n"
      "  - {out: l, op: logsumexp, in: [x], dim: [1]}\n"
      "  - {out: i, op: argmax, in: [x], dim: 1}\n"
      "  - {out: j, op: argmin, in: [y], dim: 0}\n"
      "  - {out: h, op: amax, in: [y], dim: [0]}\n"
      "  - {out: n, op: layer_norm, in: [x, w, w], normalized_shape: [B]}\n"
      "outputs: [c, l, i, j, h, n]\n");
  expect_right(1);
}

// Queries and keys of any number, and any number of their products.
TEST_P(OpenDimsTest, AttentionOfAnyLength) {
  compile(
      "inputs: {q: {dtype: f32, shape: [2, 3, B, 16]}, k: {dtype: f32, shape: [2, 3, B, 16]},\n"
      "  v: {dtype: f32, shape: [2, 3, B, 24]}}\n"
      "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, k, v]},\n"
      "  {out: c, op: scaled_dot_product_attention, in: [q, k, v], is_causal: true}]\n"
      "outputs: [y, c]\n");
  expect_right(1);
  compile(
      "inputs: {q: {dtype: f32, shape: [B, 2, 7, 16]}, k: {dtype: f32, shape: [B, 2, 9, 16]},\n"
      "  v: {dtype: f32, shape: [B, 2, 9, 24]}}\n"
      "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, k, v]}]\n"
      "outputs: [y]\n");
  expect_right();
  compile(  // keys alone: of none, results are zero
      "inputs: {q: {dtype: f32, shape: [2, 7, 16]}, k: {dtype: f32, shape: [2, B, 16]},\n"
      "  v: {dtype: f32, shape: [2, B, 24]}, m: {dtype: f32, shape: [7, B]}}\n"
      "nodes: [{out: [y, l], op: scaled_dot_product_attention, in: [q, k, v, m]},\n"
      "  {out: s, op: logsumexp, in: [m], dim: [1]}]\n"
      "outputs: [y, l, s]\n");
  expect_right();
}

// Grids of many Vulkan devices have at most 65535 workgroups along a dimension.
TEST_P(OpenDimsTest, WorkgroupsFillSeveralRowsOfAGrid) {
  const int64_t sizes[] = {1, 16384, 20011};
  compile(
      "inputs: {q: {dtype: f32, shape: [B, 4, 3, 4]}}\n"
      "nodes: [{out: y, op: scaled_dot_product_attention, in: [q, q, q]}]\n"
      "outputs: [y]\n");
  expect_right(0, sizes);
}

// Values between kernels lie in an arena whose size depends on the dim.
TEST_P(OpenDimsTest, KernelsShareAnArena) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 8, 12]}, k: {dtype: f32, shape: [7, 5]}}\n"
      "nodes:\n"
      "  - {out: a, op: exp, in: [x]}\n"
      "  - {out: b, op: permute, in: [a], dims: [0, 2, 1]}\n"
      "  - {out: c, op: softmax, in: [b], dim: -1}\n"
      "  - {out: d, op: reshape, in: [c], shape: [B, 96]}\n"
      "  - {out: e, op: sum, in: [d], dim: [1], keepdim: true}\n"
      "  - {out: f, op: div, in: [d, e]}\n"
      "  - {out: t, op: sum, in: [k], dim: [0, 1]}\n"
      "  - {out: g, op: mul, in: [f, t]}\n"
      "outputs: [g]\n",
      false);
  EXPECT_GT(exec::launches(program->executable()).size(), 4u);
  EXPECT_FALSE(program->executable().arena_bytes.is_const());
  expect_right();
}

TEST_P(OpenDimsTest, TheInnermostDimMayBeOpen) {
  compile(
      "inputs: {x: {dtype: f32, shape: [3, B]}, y: {dtype: f32, shape: [3, 1]}}\n"
      "nodes:\n"
      "  - {out: s, op: add, in: [x, y]}\n"
      "  - {out: z, op: relu, in: [s]}\n"
      "outputs: [z]\n");
  expect_right();
}

TEST_P(OpenDimsTest, ProductsOfRows) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}, z: {dtype: bf16, shape: [B, 3, 40]}}\n"
      "weights: {w: {dtype: f32, shape: [64, 48], init: {normal: 0.1}},\n"
      "  b: {dtype: f32, shape: [64], init: {normal: 1}},\n"
      "  v: {dtype: bf16, shape: [24, 40], init: {normal: 0.1}},\n"
      "  c: {dtype: f32, shape: [48, 1], init: {normal: 0.1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w, b]}\n"
      "  - {out: r, op: relu, in: [y]}\n"
      "  - {out: p, op: linear, in: [z, v]}\n"
      "  - {out: one, op: matmul, in: [x, c]}\n"
      "outputs: [r, p, one]\n");
  expect_right();
}

// Sums of nothing are zeros.
TEST_P(OpenDimsTest, ProductsOfColumnsAndSums) {
  compile(
      "inputs: {x: {dtype: f32, shape: [4, B]}, w: {dtype: f32, shape: [B, 8]}}\n"
      "nodes: [{out: y, op: matmul, in: [x, w]}]\n"
      "outputs: [y]\n");
  expect_right();
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}, i: {dtype: i8, shape: [B, 24]},\n"
      "  v: {dtype: f32, shape: [20, B]}}\n"
      "nodes:\n"
      "  - {out: y, op: einsum, in: [x, x], equation: 'ik,jk->ij'}\n"
      "  - {out: z, op: matmul, in: [v, y]}\n"
      "  - {out: c, op: einsum, in: [i, i], equation: 'ki,kj->ij'}\n"
      "outputs: [y, z, c]\n");
  expect_right();
}

// A size that estimates take is no bound: long sums are as exact as at one size.
TEST_P(OpenDimsTest, LongSumsAreFolded) {
  compile(
      "inputs: {x: {dtype: f32, shape: [3, B, 40]}, w: {dtype: f32, shape: [B, 40, 9]}}\n"
      "nodes: [{out: y, op: einsum, in: [x, w], equation: 'abk,bkc->ac'}]\n"
      "outputs: [y]\n");
  expect_right();
}

TEST_P(OpenDimsTest, AnMlp) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [96, 48], init: {normal: 0.1}},\n"
      "  b: {dtype: f32, shape: [96], init: {normal: 1}},\n"
      "  g: {dtype: f32, shape: [96], init: {normal: 1}},\n"
      "  h: {dtype: f32, shape: [96], init: {normal: 1}},\n"
      "  v: {dtype: f32, shape: [10, 96], init: {normal: 0.1}},\n"
      "  c: {dtype: f32, shape: [10], init: {normal: 1}}}\n"
      "nodes:\n"
      "  - {out: y, op: linear, in: [x, w, b]}\n"
      "  - {out: r, op: relu, in: [y]}\n"
      "  - {out: n, op: layer_norm, in: [r, g, h], normalized_shape: [96]}\n"
      "  - {out: l, op: linear, in: [n, v, c]}\n"
      "  - {out: p, op: softmax, in: [l], dim: -1}\n"
      "outputs: [p]\n");
  expect_right();
}

// The open dim is a batch of products; then it is their rows, and their batch, too.
TEST_P(OpenDimsTest, BatchesOfProducts) {
  compile(
      "inputs: {q: {dtype: f32, shape: [B, 4, 7, 16]}, k: {dtype: f32, shape: [B, 4, 16, 9]}}\n"
      "nodes: [{out: s, op: matmul, in: [q, k]}]\n"
      "outputs: [s]\n");
  expect_right();
  compile(
      "inputs: {q: {dtype: f32, shape: [4, B, 16]}, k: {dtype: f32, shape: [4, 16, 9]}}\n"
      "nodes: [{out: s, op: matmul, in: [q, k]}]\n"
      "outputs: [s]\n");
  expect_right();
  compile(
      "inputs: {q: {dtype: f32, shape: [B, B, 16]}, k: {dtype: f32, shape: [B, 16, 9]}}\n"
      "nodes: [{out: s, op: matmul, in: [q, k]}]\n"
      "outputs: [s]\n");
  expect_right();
}

TEST_P(OpenDimsTest, ConvolutionsOfABatch) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 3, 9, 8]}}\n"
      "weights: {w: {dtype: f32, shape: [5, 3, 3, 3], init: {normal: 0.1}}}\n"
      "nodes: [{out: y, op: conv2d, in: [x, w], padding: 1}]\n"
      "outputs: [y]\n");
  expect_right();
}

TEST_P(OpenDimsTest, StatesAreUpdated) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 24]}}\n"
      "states: {s: {dtype: f32, shape: [B, 24]}, n: {dtype: i32, shape: []}}\n"
      "nodes:\n"
      "  - {out: a, op: add, in: [s, x]}\n"
      "  - {out: t, op: assign, in: [s, a]}\n"
      "  - {out: m, op: add, in: [n, 1]}\n"
      "  - {out: o, op: assign, in: [n, m]}\n"
      "  - {out: y, op: mul, in: [t, 2.0]}\n"
      "outputs: [y]\n");
  expect_right();
}

TEST_P(OpenDimsTest, IsKeptInAFile) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
      "nodes: [{out: y, op: softmax, in: [x], dim: 1}]\n"
      "outputs: [y]\n");
  std::vector<std::byte> bytes;
  exec::write_executable(program->executable(), [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  program = std::make_shared<const Program>(device, exec::read_executable(nullptr, bytes, "file"));
  expect_right();
}

TEST_P(OpenDimsTest, LoopsOfSumsWithinElementsCount) {
  const std::string body =
      "inputs: {x: {dtype: f32, shape: [B, 4]}, i: {dtype: i64, shape: [B, N]},\n"
      "  s: {dtype: f32, shape: [B, N]}}\n"
      "nodes: [{out: y, op: scatter_add, in: [x, i, s], dim: 1}]\n"
      "outputs: [y]\n";
  const auto with = [&](const std::string& n) {
    std::string text = body;
    for (size_t at; (at = text.find('N')) != std::string::npos;) text.replace(at, 1, n);
    return text;
  };
  compile(with("50"));
  expect_right();
  const int64_t most = device->target().max_loop_iterations;
  if (most == 0) return;
  compile(with(std::to_string(most + 1)));
  EXPECT_ERROR_KIND(Context(program, nullptr, {{"B", 2}}), ErrorKind::device, "loop iterations");
}

TEST_P(OpenDimsTest, LinesAreScanned) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 70, 2]}, z: {dtype: f32, shape: [3, B]}}\n"
      "nodes:\n"
      "  - {out: a, op: cumsum, in: [x], dim: 1}\n"
      "  - {out: b, op: cumsum, in: [x], dim: 0, exclusive: true}\n"
      "  - {out: c, op: cumsum, in: [z], dim: 1, reverse: true}\n"
      "outputs: [a, b, c]\n");
  expect_right();
}

TEST_P(OpenDimsTest, RowsAreSorted) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}, z: {dtype: f32, shape: [B, 5000]}}\n"
      "nodes:\n"
      "  - {out: [v, i], op: sort, in: [x], dim: 1}\n"
      "  - {out: [w, k], op: topk, in: [z], k: 4, dim: 1}\n"
      "outputs: [v, i, w, k]\n");
  expect_right();
}

TEST_P(OpenDimsTest, ComputedPlacesAreRead) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}, i: {dtype: i64, shape: [5]}}\n"
      "nodes: [{out: y, op: index_select, in: [x, i], dim: 0}]\n"
      "outputs: [y]\n");
  expect_right(17);
  if (!runs_kernels()) return;
  // Where x is empty, there is nothing to read.
  Context context(program, nullptr, {{"B", 0}});
  const std::vector<Tensor> inputs = {Tensor(DType::f32, {0, 48}), Tensor(DType::i64, {5})};
  const Tensor y = context.run(inputs)[0];
  for (int64_t k = 0; k < y.numel(); ++k) EXPECT_EQ(y.get(k), 0);
}

TEST_P(OpenDimsTest, SizesThatAreTooSmallAreRefused) {
  compile(
      "inputs: {x: {dtype: f32, shape: [1, 2, B]}, w: {dtype: f32, shape: [3, 2, 3]}}\n"
      "nodes: [{out: y, op: conv1d, in: [x, w]}]\n"
      "outputs: [y]\n");
  Context context(program);
  EXPECT_ERROR(context.set_dims({{"B", 1}}), "'y' would have -1 elements along dim 2, B-2");
}

TEST_P(OpenDimsTest, SizesAreChecked) {
  compile(
      "inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
      "nodes: [{out: y, op: exp, in: [x]}]\n"
      "outputs: [y]\n");
  EXPECT_ERROR(Context(program).sizes(), "the size of 'B' is open");
  EXPECT_ERROR(Context(program, nullptr, {{"B", 2}, {"S", 3}}), "no size 'S' is open");
  Context context(program, nullptr, {{"B", 2}});
  const Tensor other(DType::f32, {3, 47});
  EXPECT_ERROR(context.run({&other, 1}), "input 'x': dim 1 is 47, not 48");
}

TEST_P(OpenDimsTest, WhatNeedsNumbersIsRefused) {
  const auto refused = [&](const std::string& body, const std::string& words) {
    EXPECT_ERROR(compile(body), words);
    EXPECT_ERROR(compile(body), "): give 'B' a number, and compile for each size");
  };
  const auto refused_as_unequal = [&](const std::string& node, const std::string& words) {
    EXPECT_ERROR(
        compile("inputs: {x: {dtype: f32, shape: [4, B]}, y: {dtype: f32, shape: [8, 3]},\n"
                "  z: {dtype: f32, shape: [4, 8]}}\n"
                "nodes: [{out: v, " +
                node +
                "}, {out: w, op: exp, in: [y]}, {out: u, op: exp, in: [z]}]\n"
                "outputs: [v, w, u]\n"),
        words);
  };
  // Named as it is written, not as what it is made of.
  for (const auto& [op, reason] :
       {std::pair{"sort", "rows may have 2147483647 elements"},
        std::pair{"topk", "it keeps 3 elements of a row that may have 0"}})
    refused(str("inputs: {x: {dtype: f32, shape: [B, 48]}}\n"
                "nodes: [{out: [y, i], op: ",
                op, ", in: [x], ", op == std::string_view("topk") ? "k: 3, " : "",
                "dim: 0}]\n"
                "outputs: [y, i]\n"),
            str("graph.yaml:4: ", op, ": has no kernel with the open dim 'B' (", reason));
  // It is not known which of them would have to be a number.
  const ir::Graph two = parse_yaml_graph(
      "tcc: 1\ndims: {B: 16, S: 3}\n"
      "inputs: {x: {dtype: f32, shape: [B, S]}}\n"
      "nodes: [{out: [y, i], op: sort, in: [x], dim: 1}]\n"
      "outputs: [y, i]\n",
      "graph.yaml", ".");
  backends::CompileOptions options;
  options.open_dims = {{"B", {1, 100, 1}}, {"S", {}}};
  EXPECT_ERROR(backends::compile(two, device->target(), options),
               "sort: has no kernel with the open dims 'B', 'S' (rows may have 2147483647 "
               "elements, and no more than 1073741824 are sorted: their length needs a range up to "
               "there): give one of them a number, and compile for each size");
  // Nothing would look at run time whether they are.
  refused_as_unequal("op: matmul, in: [x, y]",
                     "matmul: takes B and 8 for equal, which they are not at B = 0");
  refused_as_unequal("op: add, in: [x, z]", "add: takes B and 8 for equal");
  refused_as_unequal("op: reshape, in: [x], shape: [B // 2, 8]", "reshape: takes ");
  refused_as_unequal("op: reshape, in: [x], shape: [(B + 63) // 64 * 64, 4]", "reshape: takes ");
  EXPECT_ERROR(compile("inputs: {x: {dtype: f32, shape: [4]}}\n"
                       "weights: {w: {dtype: f32, shape: [B], init: ones}}\n"
                       "nodes: [{out: y, op: exp, in: [w]}]\n"
                       "outputs: [y, x]\n"),
               "'w' of type f32[B] has data, which open dims cannot have");
}

}  // namespace
}  // namespace tcc::runtime
