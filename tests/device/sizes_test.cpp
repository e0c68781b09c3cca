// Contexts that take their sizes from the shapes of inputs, on every device.
#include <algorithm>
#include <random>
#include <thread>

#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "ir/reference/check.h"
#include "runtime/program.h"
#include "tests/device/conformance.h"
#include "tests/expect_error.h"

namespace tcc::runtime {
namespace {

constexpr const char* kMlp =
    "tcc: 1\nname: mlp\ndims: {B: 16}\n"
    "inputs: {x: {dtype: f32, shape: [B, 48]}, y: {dtype: f32, shape: [B, 1]}}\n"
    "weights: {w: {dtype: f32, shape: [96, 48], init: {normal: 0.1}},\n"
    "  v: {dtype: f32, shape: [10, 96], init: {normal: 0.1}}}\n"
    "nodes:\n"
    "  - {out: a, op: linear, in: [x, w]}\n"
    "  - {out: r, op: relu, in: [a]}\n"
    "  - {out: l, op: linear, in: [r, v]}\n"
    "  - {out: z, op: add, in: [l, y]}\n"
    "  - {out: p, op: softmax, in: [z], dim: -1}\n"
    "outputs: [p]\n";

class SizesTest : public DeviceTest {
 protected:
  void compile(const std::string& text, const ir::SizeRanges& dims,
               const std::vector<ir::Numbers>& variants = {}) {
    graph = parse_yaml_graph(text, "graph.yaml", ".");
    backends::CompileOptions options;
    options.open_dims = dims;
    options.specialize = variants;
    program = std::make_shared<const Program>(device,
                                              backends::compile(graph, device->target(), options));
  }

  std::vector<Tensor> inputs_of(const ir::Graph& bound, uint64_t seed = 5) const {
    std::vector<Tensor> inputs;
    for (const ir::Value* input : bound.inputs)
      inputs.push_back(random_tensor(input->dtype(), ir::const_shape(*input), Init::uniform(-2, 2),
                                     stream_seed(seed, input->name)));
    return inputs;
  }

  void expect_right(Context& context, const exec::Dims& dims, uint64_t seed = 5) const {
    const ir::Graph bound = graph.bind(dims);
    const std::vector<Tensor> inputs = inputs_of(bound, seed);
    const std::vector<Tensor> results = context.run(inputs);
    ASSERT_EQ(results.size(), bound.outputs.size());
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(results[i].shape(), ir::const_shape(*bound.outputs[i]));
    if (!runs_kernels()) return;
    for (const ir::Comparison& compared : ir::check_outputs(bound, inputs, results))
      EXPECT_TRUE(compared.pass) << compared.reason;
  }

  ir::Graph graph;
  std::shared_ptr<const Program> program;
};
TCC_ON_EVERY_DEVICE(SizesTest);

// More sizes than a context keeps, in any order, some again: recorded, forgotten and made anew.
TEST_P(SizesTest, OneContextRunsAtManySizes) {
  compile(kMlp, {{"B", {0, 300, 1}}});
  Context context(program);
  std::mt19937 draw(3);
  std::vector<int64_t> sizes = {16, 1, 17, 16, 16, 0, 300, 257};
  for (int i = 0; i < 30; ++i) sizes.push_back(std::uniform_int_distribution<int64_t>(1, 40)(draw));
  for (const int64_t size : sizes) {
    expect_right(context, {{"B", size}}, static_cast<uint64_t>(size) + 1);
    ASSERT_EQ(context.dims()[0], size);
  }
}

// Sizes in multiples: other sizes are refused.
TEST_P(SizesTest, MultiplesAreFacts) {
  const std::string text =
      "tcc: 1\ndims: {S: 8}\n"
      "inputs: {x: {dtype: f32, shape: [3, S]}, y: {dtype: bf16, shape: [S + 8, 4]}}\n"
      "nodes: [{out: a, op: exp, in: [x]}, {out: b, op: relu, in: [y]}]\n"
      "outputs: [a, b]\n";
  compile(text, {{"S", {8, 4096, 8}}});
  Context context(program);
  for (const int64_t size : {8, 16, 24, 504, 4096, 8}) expect_right(context, {{"S", size}});
  EXPECT_ERROR(context.set_dims({{"S", 12}}), "S = 12 is no multiple of 8 (S = 8..4096:8)");
  EXPECT_EQ(context.dims()[0], 8);
  compile(text, {{"S", {}}});
  Context free(program);
  for (const int64_t size : {1, 7, 8, 12, 0}) expect_right(free, {{"S", size}});
}

TEST_P(SizesTest, WhatDoesNotFitIsNamed) {
  compile(kMlp, {{"B", {2, 64, 2}}});
  Context context(program);
  EXPECT_ERROR(context.sizes(), "mlp: the size of 'B' is open: set the shapes");
  using Shapes = std::vector<std::vector<int64_t>>;
  const auto set = [&](const Shapes& shapes) {
    const std::vector<exec::ShapeView> views(shapes.begin(), shapes.end());
    context.set_shapes(views);
  };
  set({{4, 48}, {4, 1}});
  const auto refused = [&](const Shapes& shapes, const std::string& words) {
    EXPECT_ERROR(set(shapes), words);
    EXPECT_EQ(context.dims()[0], 4);
    EXPECT_EQ(context.sizes().of(program->executable().buffers[0].shape[0]), 4);
  };
  refused({{6, 47}, {6, 1}}, "input 'x': dim 1 is 47, not 48");
  refused({{66, 48}, {66, 1}}, "input 'x': dim 0 is 66: B = 66 is above 64 (B = 2..64:2)");
  refused({{0, 48}, {0, 1}}, "input 'x': dim 0 is 0: B = 0 is below 2 (B = 2..64:2)");
  refused({{7, 48}, {7, 1}}, "input 'x': dim 0 is 7: B = 7 is no multiple of 2 (B = 2..64:2)");
  refused({{6, 48}, {8, 1}}, "input 'y': dim 0 is 8, not 6 (B = 6 by input 'x': dim 0)");
  refused({{6, 48}}, "the graph has 2 inputs, not 1");
  refused({{6, 48}, {6}}, "input 'y' has 1 dim, not 2");
  refused({{-6, 48}, {-6, 1}}, "input 'x': dim 0 is -6: B = -6 is below 2");
  EXPECT_ERROR(context.set_dims({{"C", 1}}), "no size 'C' is open");
  EXPECT_ERROR(context.set_dims({{"B", 65}}), "B = 65 is above 64");
  context.set_dims({});  // as they are
  expect_right(context, {{"B", 62}});
}

// Dims within expressions: the size is what the first plain place says, the others are held to it.
TEST_P(SizesTest, SizesFollowFromExpressions) {
  compile(
      "tcc: 1\ndims: {S: 6, T: 2, U: 3}\n"
      "inputs: {x: {dtype: f32, shape: [2*S + 1]}, y: {dtype: f32, shape: [S//2 + T]},\n"
      "  z: {dtype: f32, shape: [T, 3]}}\n"
      "nodes: [{out: a, op: exp, in: [x]}, {out: b, op: exp, in: [y]}, {out: c, op: exp, in: "
      "[z]}]\n"
      "outputs: [a, b, c]\n",
      {{"S", {}}, {"T", {1, 9, 1}}, {"U", {}}});
  Context context(program);
  const auto set = [&](int64_t x, int64_t y, int64_t z) {
    const int64_t shape_x[] = {x}, shape_y[] = {y}, shape_z[] = {z, 3};
    const exec::ShapeView shapes[] = {shape_x, shape_y, shape_z};
    context.set_shapes(shapes);
  };
  EXPECT_ERROR(set(13, 5, 2), "no input's shape tells the size of 'U'");
  context.set_dims({{"S", 1}, {"T", 1}, {"U", 4}});
  set(13, 5, 2);
  EXPECT_EQ(std::vector(context.dims().begin(), context.dims().end()),
            (std::vector<int64_t>{6, 2, 4}));
  EXPECT_ERROR(set(14, 5, 2), "input 'x': dim 0 is 14, which it is for no S = free");
  EXPECT_ERROR(set(0, 5, 2), "input 'x': dim 0 is 0, which it is for no S");
  EXPECT_ERROR(set(13, 6, 2),
               "input 'y': dim 0 is 6, not 5 (S = 6 by input 'x': dim 0, T = 2 by input 'z'");
  expect_right(context, {{"S", 7}, {"T", 3}, {"U", 3}});
}

// Memory is as large as the largest sizes need, and smaller ones take none.
TEST_P(SizesTest, ReservedMemoryServesSmallerSizes) {
  compile(kMlp, {{"B", {1, 1000, 1}}});
  Context context(program);
  context.reserve_dims({{"B", 1000}});
  EXPECT_ERROR(context.sizes(), "is open");
  expect_right(context, {{"B", 1000}});
  const int64_t before = device->allocated_bytes();
  for (const int64_t size : {1, 999, 2, 512, 1000}) expect_right(context, {{"B", size}});
  EXPECT_EQ(device->allocated_bytes(), before);
}

TEST_P(SizesTest, StatesKeepTheirSizes) {
  compile(
      "tcc: 1\ndims: {B: 4}\n"
      "inputs: {x: {dtype: f32, shape: [B, 3]}}\n"
      "states: {n: {dtype: i32, shape: []}, s: {dtype: f32, shape: [B, 3]}}\n"
      "nodes:\n"
      "  - {out: m, op: add, in: [n, 1]}\n"
      "  - {out: o, op: assign, in: [n, m]}\n"
      "  - {out: a, op: add, in: [s, x]}\n"
      "  - {out: t, op: assign, in: [s, a]}\n"
      "  - {out: y, op: mul, in: [t, 2.0]}\n"
      "outputs: [y]\n",
      {{"B", {}}});
  Context context(program);
  EXPECT_EQ(context.state(0).get(0), 0);
  EXPECT_ERROR(context.state(1), "the size of 'B' is open");
  context.set_dims({{"B", 4}});
  EXPECT_EQ(context.state(1).shape(), (std::vector<int64_t>{4, 3}));
  EXPECT_ERROR(context.set_dims({{"B", 5}}),
               "state 's' is f32[4, 3] in this context, and f32[5, 3] with these sizes");
  EXPECT_EQ(context.dims()[0], 4);
}

// A state whose size is a number lives through runs of all sizes.
TEST_P(SizesTest, StatesLiveThroughSizes) {
  compile(
      "tcc: 1\ndims: {B: 4}\n"
      "inputs: {x: {dtype: f32, shape: [B, 3]}}\n"
      "states: {n: {dtype: i32, shape: []}}\n"
      "nodes:\n"
      "  - {out: m, op: add, in: [n, 1]}\n"
      "  - {out: o, op: assign, in: [n, m]}\n"
      "  - {out: y, op: exp, in: [x]}\n"
      "outputs: [y]\n",
      {{"B", {}}});
  Context context(program);
  int runs = 0;
  for (const int64_t size : {3, 5, 3, 3, 4, 5, 70, 3}) {
    const Tensor x(DType::f32, {size, 3});
    context.run({&x, 1});
    ++runs;
    if (runs_kernels()) { EXPECT_EQ(context.state(0).get(0), runs) << size; }
  }
}

// Kernels with constants for some sizes, chosen by the sizes; weights and states are shared.
TEST_P(SizesTest, VariantsRunAtTheirSizes) {
  const std::string text =
      "tcc: 1\nname: two\ndims: {B: 4, S: 8}\n"
      "inputs: {x: {dtype: f32, shape: [B, S, 48]}}\n"
      "weights: {w: {dtype: f32, shape: [64, 48], init: {normal: 0.1}}}\n"
      "states: {n: {dtype: i32, shape: []}}\n"
      "nodes:\n"
      "  - {out: m, op: add, in: [n, 1]}\n"
      "  - {out: o, op: assign, in: [n, m]}\n"
      "  - {out: a, op: linear, in: [x, w]}\n"
      "  - {out: p, op: softmax, in: [a], dim: -1}\n"
      "outputs: [p]\n";
  const ir::SizeRanges dims = {{"B", {1, 64, 1}}, {"S", {4, 64, 4}}};
  compile(text, dims, {{{"B", 1}, {"S", 16}}, {{"S", 16}}, {{"B", 1}}});
  const auto whole = program;
  ASSERT_EQ(whole->variants().size(), 3u);
  int64_t most = 0;  // weights have one content, in the layouts of the kernels
  for (const auto& variant : whole->variants())
    most = std::max(most, variant.program->constant_bytes());
  EXPECT_LE(whole->constant_bytes(), 2 * most);
  const auto run = [&] {
    Context context(program);
    int runs = 0;
    const auto at = [&](int64_t batch, int64_t length, int variant) {
      expect_right(context, {{"B", batch}, {"S", length}}, static_cast<uint64_t>(++runs));
      const Program* wanted = variant < 0
                                  ? program.get()
                                  : program->variants()[static_cast<size_t>(variant)].program.get();
      EXPECT_EQ(&context.program_at_hand(), wanted) << batch << ", " << length;
      if (runs_kernels()) { EXPECT_EQ(context.state(0).get(0), runs); }
    };
    at(3, 8, -1);
    at(3, 16, 1);
    at(1, 16, 0);
    at(1, 64, 2);
    at(2, 64, -1);
    at(7, 16, 1);
    at(3, 16, 1);
    EXPECT_ERROR(context.set_dims({{"B", 1}, {"S", 18}}), "S = 18 is no multiple of 4");
  };
  run();
  // The file has all of them.
  graph = parse_yaml_graph(text, "graph.yaml", ".");
  backends::CompileOptions options;
  options.open_dims = dims;
  options.specialize = {{{"B", 1}, {"S", 16}}, {{"S", 16}}, {{"B", 1}}};
  std::vector<std::byte> bytes;
  exec::write_executable(backends::compile(graph, device->target(), options),
                         [&](std::span<const std::byte> more) {
                           bytes.insert(bytes.end(), more.begin(), more.end());
                         });
  program = std::make_shared<const Program>(device, exec::read_executable(nullptr, bytes, "file"));
  ASSERT_EQ(program->variants().size(), 3u);
  EXPECT_EQ(program->constant_bytes(), whole->constant_bytes());
  run();
}

// Contexts of one program, each with its sizes, on two threads.
TEST_P(SizesTest, ThreadsHaveTheirOwnSizes) {
  compile(kMlp, {{"B", {1, 64, 1}}});
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      Context context(program);
      for (int64_t i = 0; i < 12; ++i)
        expect_right(context, {{"B", 1 + (i * 7 + thread * 31) % 61}}, static_cast<uint64_t>(i));
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tcc::runtime
